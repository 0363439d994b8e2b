/** Who sits where, and what was played: beside a board. */
import type { ComponentChild } from "preact";

/** now: whose turn it is;  pieces: each side has its own, which the board shows. */
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
