/** `Sides` lists the players of a game beside its board. */
import type { ComponentChild } from "preact";

/**
 * now: the seat whose turn it is
 * pieces: the board shows pieces, so each player gets the piece of its side
 */
export function Sides({
  names,
  now,
  pieces,
}: {
  names: readonly ComponentChild[];
  now?: number | undefined;
  pieces: boolean;
}) {
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
