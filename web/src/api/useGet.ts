/**
 * `useGet` keeps an answer of the service fresh for a view: it asks when the view appears, after an
 * event that concerns it, and at intervals while the page is seen.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { paths } from "../../generated/schema";
import { get, type Got, type Place, remembered, ServiceProblem } from "./client";
import { heard, onEvent } from "./events";

/** An answer of the service, or why there is none. */
export interface Query<T> {
  /** The newest answer. It stays while a newer one is on its way, or fails. */
  value: T | undefined;
  problem: ServiceProblem | null;
  again: () => void;
}

export interface Freshness {
  /** Ask again after this time; 0 asks only after events. */
  everyMs?: number;
  /** Only events of this population concern the view; undefined: all events do. */
  population?: string;
  /** When another resource is asked for, the old answer stays until the new one is there. */
  keep?: boolean;
}

/** Events that come within this time lead to one request. */
const GATHER_MS = 150;
/** For what changes all the time, such as frames. */
export const OFTEN_MS = 1500;
/** The service gives no more snapshots at once. */
export const MOST_SNAPSHOTS = 5000;
/** For what changes with games and updates. */
export const SELDOM_MS = 5000;

/**
 * Decides when to ask, never twice at once: now, soon after an event, and at intervals. A hidden
 * page does not ask at all.
 * ask: returns whether the service answered; without an answer it is asked again in any case
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
    // What a hidden page missed is asked for when it is shown: `events.ts` then sends a "resync".
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

/** Asks for a resource and returns its newest answer. A template of null asks for nothing yet. */
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
  // A person who comes back to a view sees its last answer at once, while it is asked for again.
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
