/** Who sits where, and what was played: beside a board. */
import type { ComponentChild } from "preact";
import { type Choice, choiceName, type Grid } from "../board";

/** now: whose turn it is;  pieces: each side has its own, which the board shows. */
export function Sides({ names, now, pieces }: { names: readonly ComponentChild[]; now?: number | undefined; pieces: boolean }) {
  return (
    <ul class="sides">
      {names.map((name, seat) => (
        <li key={seat} aria-current={seat === now ? "step" : undefined}>
          {pieces && (
            <svg viewBox="-50 -50 100 100" class="falls" aria-hidden="true">
              <g class={`piece ${seat ? "second" : "first"}`}>
                <circle class="disc" r={44} />
                {seat ? <circle class="ring" r={20} /> : <path d="M-17 -17L17 17M17 -17L-17 17" />}
              </g>
            </svg>
          )}
          <span>{name}</span>
        </li>
      ))}
    </ul>
  );
}

type Played = Omit<Choice, "action"> & { action: unknown; opening?: boolean };

/** now: how many of them have been made on the board that is shown;  go: shows the board behind that many. */
export function Moves({ moves, grid, now, go }: { moves: readonly Played[]; grid: Grid | null; now?: number; go?: (made: number) => void }) {
  return (
    <ol class="moves" aria-label="Moves">
      {moves.map((move, index) => {
        const text = `${index + 1}. ${choiceName(move, grid)}`;
        const why = move.opening ? "a random opening move" : undefined;
        return (
          <li key={index}>
            {go ? (
              <button type="button" title={why} aria-current={index + 1 === now ? "step" : undefined} onClick={() => go(index + 1)}>
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
