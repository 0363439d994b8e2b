/**
 * `MatchForm` starts a match of two players. The service plays it, and its page shows the interval
 * shrink.
 */
import { useState } from "preact/hooks";
import { change } from "../api/client";
import { go, to } from "../address";
import { useSending } from "../ui/sending";

const GAMES = 400;

/**
 * Asks how many games to play, and starts the match.
 * env: the game, where none of the players was trained
 * children: other buttons
 */
export function MatchForm({
  players,
  env,
  children,
}: {
  players: readonly string[];
  env?: string | undefined;
  children?: preact.ComponentChildren;
}) {
  const [games, setGames] = useState(GAMES);
  const [fresh, setFresh] = useState(false);
  const { busy, problem, send } = useSending();
  const start = async () => {
    const made = await change(
      "post",
      "/v1/evaluations",
      {},
      { players, games, fresh, ...(env !== undefined && { env }) },
    );
    go(to(["evaluations", made.id]));
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send(start);
      }}
    >
      <label class="field">
        <span>Games</span>
        <input
          type="number"
          min={2}
          max={1_000_000}
          step={2}
          value={games}
          onInput={(event) => setGames(event.currentTarget.valueAsNumber)}
        />
        <small>in pairs: the same seed twice, seats swapped</small>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={fresh}
          onChange={(event) => setFresh(event.currentTarget.checked)}
        />{" "}
        fresh: it counts in no rating
      </label>
      {problem && (
        <p class="wrong" role="alert">
          {problem.message}
        </p>
      )}
      <div class="buttons">
        {children}
        <button class="primary" disabled={busy} autofocus={children !== undefined}>
          Start the match
        </button>
      </div>
    </form>
  );
}
