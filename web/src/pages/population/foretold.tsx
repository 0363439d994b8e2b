/** What a change of a population would do, told by the service before it is sent. */
import { useEffect, useState } from "preact/hooks";
import { ServiceProblem } from "../../api/client";

const PAUSE_MS = 300;

export interface Foretold {
  /** The effects in words; null until they are there, and where the change would be refused. */
  told: readonly string[] | null;
  /** Why the change would be refused. */
  problem: ServiceProblem | null;
}

const NOTHING: Foretold = { told: null, problem: null };

/**
 * Asks what a change would do, once a person has paused.
 * of: names the change, so another change is asked for anew; null for none
 */
export function useForetold(
  of: string | null,
  ask: () => Promise<{ effects?: readonly string[] }>,
): Foretold {
  const [state, setState] = useState<{ of: string | null } & Foretold>({ of: null, ...NOTHING });
  useEffect(() => {
    if (of === null) return;
    let over = false;
    const look = async () => {
      try {
        const { effects } = await ask();
        if (!over) setState({ of, told: effects ?? [], problem: null });
      } catch (error) {
        if (!(error instanceof ServiceProblem)) throw error;
        if (!over) setState({ of, told: null, problem: error });
      }
    };
    const timer = setTimeout(() => void look(), PAUSE_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [of]);
  return state.of === of ? state : NOTHING;
}

/** Shows what a change would do; `waiting` while that is asked for. */
export function Effects({ of, waiting }: { of: Foretold; waiting: boolean }) {
  return (
    <div class="effects" role="status" aria-label="What it does">
      {of.told ? (
        <>
          <p class="state-title">This is what it does</p>
          <ul>
            {of.told.map((effect) => (
              <li key={effect}>{sentence(effect)}</li>
            ))}
          </ul>
        </>
      ) : (
        waiting && !of.problem && <p class="note">Asking what it does …</p>
      )}
    </div>
  );
}

/** Says why a change is refused, in all the words of the service. */
export function Refused({ problem }: { problem: ServiceProblem }) {
  return (
    <p class="wrong" role="alert">
      {problem.status === 412
        ? "It was changed meanwhile: look at the values again, then save."
        : [problem.message, ...problem.errors.map((error) => error.detail)].join(" ")}
    </p>
  );
}

export function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
