/** What a view shows of the service, kept fresh: read when it appears, when an event touches it, and every so often while it is seen. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { paths } from "../generated/schema";
import { get, type Got, type Place, ServiceProblem } from "./api/client";
import { heard, onEvent } from "./live";

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

/** template null: nothing is asked for yet. */
export function useGet<P extends keyof paths>(template: P | null, place: Place = {}, { everyMs = SELDOM_MS, population, keep = false }: Freshness = {}): Query<Got<P>> {
  const name = JSON.stringify([template, place]);
  const [state, setState] = useState<{ name: string; value?: Got<P>; problem: ServiceProblem | null }>({ name, problem: null });
  const reload = useRef(() => {});

  useEffect(() => {
    if (template === null) return;
    const over = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let busy = false;
    let asked = false;
    const load = async () => {
      clearTimeout(timer);
      asked = busy;
      if (busy) return;
      busy = true;
      try {
        const value = await get(template, place, over.signal);
        heard();
        setState((old) => (old.name === name && old.value === value && !old.problem ? old : { name, value, problem: null }));
      } catch (error) {
        if (over.signal.aborted) return;
        if (!(error instanceof ServiceProblem)) throw error;
        setState((old) => ({ ...(old.name === name || keep ? { ...old, name } : { name }), problem: error }));
      }
      busy = false;
      if (asked) timer = setTimeout(load, GATHER_MS);
      else if (everyMs && !document.hidden) timer = setTimeout(load, everyMs);
    };
    const soon = () => {
      if (busy) asked = true;
      else {
        clearTimeout(timer);
        timer = setTimeout(load, GATHER_MS);
      }
    };
    reload.current = load;
    void load();
    const forget = onEvent((event) => {
      if (event.population === null || population === undefined || event.population === population) soon();
    });
    return () => {
      forget();
      clearTimeout(timer);
      over.abort();
    };
  }, [name, everyMs, population]);

  const mine = state.name === name;
  return { value: mine || keep ? state.value : undefined, problem: mine ? state.problem : null, again: () => reload.current() };
}
