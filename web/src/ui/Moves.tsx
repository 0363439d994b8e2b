/** `Moves` lists the moves of a game beside its board. */
import { type Choice, choiceName, type Grid } from "../board";

type Played = Omit<Choice, "action"> & { action: unknown; opening?: boolean };

/**
 * now: how many moves have been made on the board that is shown
 * go: shows the board after a number of moves
 */
export function Moves({
  moves,
  grid,
  now,
  go,
}: {
  moves: readonly Played[];
  grid: Grid | null;
  now?: number;
  go?: (made: number) => void;
}) {
  return (
    <ol class="moves" aria-label="Moves">
      {moves.map((move, index) => {
        const text = `${index + 1}. ${choiceName(move, grid)}`;
        const why = move.opening ? "a random opening move" : undefined;
        return (
          <li key={index}>
            {go ? (
              <button
                type="button"
                title={why}
                aria-current={index + 1 === now ? "step" : undefined}
                onClick={() => go(index + 1)}
              >
                {text}
              </button>
            ) : (
              <span title={why}>{text}</span>
            )}
          </li>
        );
      })}
    </ol>
  );
}
