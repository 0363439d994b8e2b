import { useEffect, useRef, useState } from "preact/hooks";
import { change, ServiceProblem } from "../api/client";
import { go, to } from "../router";

const GAMES = 400;

/** Two players, how many games, go: the match is played on the service, and its page shows the interval shrink. */
export function StartMatch({ first, second, close }: { first: string; second: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [games, setGames] = useState(GAMES);
  const [problem, setProblem] = useState<ServiceProblem | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const start = async () => {
    try {
      const made = await change("post", "/v1/evaluations", {}, { players: [first, second], games });
      go(to(["evaluations", made.id]));
    } catch (error) {
      if (!(error instanceof ServiceProblem)) throw error;
      setProblem(error);
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="match-title">
      <h2 id="match-title">
        {first} against {second}
      </h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label class="field">
          <span>Games</span>
          <input type="number" min={2} max={1_000_000} step={2} value={games} onInput={(event) => setGames(event.currentTarget.valueAsNumber)} />
          <small>in pairs: the same seed twice, seats swapped</small>
        </label>
        {problem && (
          <p class="wrong" role="alert">
            {problem.message}
          </p>
        )}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button class="primary" autofocus>
            Start the match
          </button>
        </div>
      </form>
    </dialog>
  );
}
