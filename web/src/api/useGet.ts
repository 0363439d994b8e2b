/** What a view shows of the service, kept fresh: read when it appears, when an event touches it, and every so often while it is seen. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { paths } from "../../generated/schema";
import { get, type Got, type Place, remembered, ServiceProblem } from "./client";
import { heard, onEvent } from "./events";

export interface Query<T> {
  /** The newest answer; stays while a newer one is on its way or fails. */
  value: T | undefined;
  problem: ServiceProblem | null;
  again: () => void;
}

export interface Freshness {
  /** Read again after so long; 0: only after events. */
  everyMs?: number;
  /** Events of this population concern it; undefined: all do. */
  population?: string;
  /** When something else is asked for, the old answer stays until the new one is there. */
  keep?: boolean;
}

const GATHER_MS = 150;
export const OFTEN_MS = 1500;
export const SELDOM_MS = 5000;

/**
 * When to ask, never twice at once: now, soon after an event, and every so often; while nobody sees the page, not at all.
 * ask: gives whether there was an answer; where there was none it is asked again in any case.
 */
export function asking(
  ask: () => Promise<boolean>,
  everyMs: number,
): { now: () => Promise<void>; soon: () => void; end: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let [busy, asked, over] = [false, false, false];
  const after = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => void (document.hidden || now()), ms);
  };
  const now = async () => {
    clearTimeout(timer);
    asked = busy;
    if (busy) return;
    busy = true;
    let answered = false;
    try {
      answered = await ask();
    } finally {
      busy = false;
      if (!over && asked) after(GATHER_MS);
      else if (!over && (everyMs || !answered)) after(everyMs || SELDOM_MS);
    }
  };
  const soon = () => {
    // What was missed while hidden is asked for when the page is shown: `events.ts` tells everybody to read anew.
    if (document.hidden) return;
    if (busy) asked = true;
    else after(GATHER_MS);
  };
  const end = () => {
    over = true;
    clearTimeout(timer);
  };
  return { now, soon, end };
}

/** template null: nothing is asked for yet. */
export function useGet<P extends keyof paths>(
  template: P | null,
  place: Place = {},
  { everyMs = SELDOM_MS, population, keep = false }: Freshness = {},
): Query<Got<P>> {
  const name = JSON.stringify([template, place]);
  const [state, setState] = useState<{
    name: string;
    value?: Got<P>;
    problem: ServiceProblem | null;
  }>({ name, problem: null });
  const reload = useRef(() => {});

  useEffect(() => {
    if (template === null) return;
    const over = new AbortController();
    const ask = async () => {
      try {
        const value = await get(template, place, over.signal);
        heard();
        setState((old) =>
          old.name === name && old.value === value && !old.problem
            ? old
            : { name, value, problem: null },
        );
        return true;
      } catch (error) {
        if (over.signal.aborted) return true;
        if (!(error instanceof ServiceProblem)) throw error;
        setState((old) => ({
          ...(old.name === name || keep ? { ...old, name } : { name }),
          problem: error,
        }));
        return error.status > 0 && error.status !== 429 && error.status < 500;
      }
    };
    const { now, soon, end } = asking(ask, everyMs);
    reload.current = () => void now();
    void now();
    const forget = onEvent((event) => {
      if (event.population === null || population === undefined || event.population === population)
        soon();
    });
    return () => {
      forget();
      end();
      over.abort();
    };
  }, [name, everyMs, population]);

  const mine = state.name === name;
  // Who comes back to a view sees what it showed, at once, while it is asked for again.
  const value =
    mine && state.value !== undefined
      ? state.value
      : template === null
        ? undefined
        : remembered(template, place);
  return {
    value: value ?? (keep ? state.value : undefined),
    problem: mine ? state.problem : null,
    again: () => reload.current(),
  };
}
