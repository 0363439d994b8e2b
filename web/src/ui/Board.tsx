/**
 * `Board` draws a position: on squares where they are known, else as text. On it are buttons for
 * the moves that can be made now.
 */
import { useEffect, useRef } from "preact/hooks";
import {
  beside,
  changed,
  type Choice,
  choiceName,
  type Grid,
  marks,
  squareName,
  winningLine,
} from "../board";

const PIECES: Record<string, string> = { X: "first", O: "second" };

interface Position {
  grid: Grid | null;
  /** The position as text. */
  position: string;
  /** The position before, from which the last move is marked. */
  before?: string | null | undefined;
  /** Pieces fall, so that a move names a column. */
  falls: boolean;
  /** How many equal marks in a line win; null: lines do not win. */
  long: number | null;
}

interface Choosing {
  legal: readonly Choice[];
  choose: (choice: Choice) => void;
  /** Called with the name of a square that was clicked and cannot be played. */
  miss: (name: string) => void;
  busy: boolean;
}

export function Board({ choosing, ...of }: Position & { choosing?: Choosing | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const { grid, position, falls } = of;
  const legal = choosing?.legal ?? [];
  const focus = (choice: Choice | undefined) =>
    box.current?.querySelector<HTMLButtonElement>(`[data-action="${choice?.action}"]`)?.focus();
  const chosen = useRef<number | undefined>(undefined);
  useEffect(() => {
    // A person who plays by keys goes on at the same square; the focus is not taken from elsewhere.
    const free = document.activeElement === document.body || document.activeElement?.id === "view";
    if (legal.length && free)
      focus(legal.find(({ action }) => action === chosen.current) ?? legal[legal.length >> 1]);
  }, [legal.length > 0, position]);
  const choose = (choice: Choice) => {
    if (!choosing || choosing.busy) return;
    chosen.current = choice.action;
    choosing.choose(choice);
  };
  const missed = (event: MouseEvent) => {
    if (!choosing || !grid || !(event.target instanceof SVGElement)) return;
    const { left, top, width, height } =
      event.target.ownerSVGElement?.getBoundingClientRect() ?? event.target.getBoundingClientRect();
    const column = Math.floor(((event.clientX - left) / width) * grid[1]);
    const row = Math.floor(((event.clientY - top) / height) * grid[0]);
    choosing.miss(squareName([falls ? null : row, column], grid));
  };
  const keyed = (event: KeyboardEvent) => {
    if (!choosing || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = legal.find(
      (choice) =>
        String(choice.action) === (document.activeElement as HTMLElement | null)?.dataset["action"],
    );
    const to =
      beside(legal, at, event.key) ??
      (falls && grid
        ? legal.find((choice) => choiceName(choice, grid) === event.key.toLowerCase())
        : undefined);
    if (!to) return;
    event.preventDefault();
    focus(to);
  };
  const buttons = legal.map((choice) => (
    <button
      key={choice.action}
      type="button"
      data-action={choice.action}
      class={grid ? "square" : ""}
      aria-disabled={choosing?.busy}
      style={grid && choice.square ? placed(choice.square, grid) : {}}
      aria-label={`Play ${choiceName(choice, grid)}`}
      onClick={() => choose(choice)}
    >
      {!grid && choiceName(choice, grid)}
    </button>
  ));
  if (!grid) {
    return (
      <div ref={box} onKeyDown={keyed}>
        <pre class="position">{position}</pre>
        <div class="choices">{buttons}</div>
      </div>
    );
  }
  return (
    <div
      ref={box}
      class={`board ${falls ? "falls" : "places"}`}
      style={{ maxWidth: `${Math.min(34, 4.6 * grid[1])}rem`, "--rows": String(grid[0]) }}
      onKeyDown={keyed}
    >
      <div class="squares" onClick={missed}>
        <Squares {...of} grid={grid} />
        {buttons}
      </div>
      <p
        class="files"
        aria-hidden="true"
        style={{ gridTemplateColumns: `repeat(${grid[1]}, 1fr)` }}
      >
        {Array.from({ length: grid[1] }, (_, column) => (
          <span key={column}>{String.fromCharCode(97 + column)}</span>
        ))}
      </p>
    </div>
  );
}

/** Returns the place of a square in per cent of the board; a column is as high as the board. */
function placed(
  [row, column]: readonly [number | null, number],
  [rows, columns]: Grid,
): Record<string, string> {
  const height = 100 / rows;
  const [top, high] = row === null ? [0, 100] : [row * height, height];
  return {
    left: `${(100 * column) / columns}%`,
    width: `${100 / columns}%`,
    top: `${top}%`,
    height: `${high}%`,
  };
}

const SIZE = 100;

function centre([row, column]: readonly [number, number]): string {
  return `${SIZE * (column + 0.5)} ${SIZE * (row + 0.5)}`;
}

function Squares({ grid, position, before, falls, long }: Position & { grid: Grid }) {
  const [rows, columns] = grid;
  const won = winningLine(position, grid, long);
  const last = new Set(changed(before, position, grid).map(String));
  return (
    <svg
      viewBox={`0 0 ${SIZE * columns} ${SIZE * rows}`}
      role="img"
      aria-label={spoken(position, grid)}
    >
      <rect class="ground" width={SIZE * columns} height={SIZE * rows} rx={falls ? 18 : 0} />
      {!falls && <Lines grid={grid} />}
      {won && <path class="won" d={`M${won.map(centre).join("L")}`} />}
      {marks(position, grid).map((line, row) =>
        line.map((mark, column) => (
          <Piece
            key={`${row} ${column}`}
            mark={mark}
            row={row}
            column={column}
            falls={falls}
            last={last.has(`${row},${column}`)}
          />
        )),
      )}
    </svg>
  );
}

/** Draws the lines between the squares of a board on which pieces are placed. */
function Lines({ grid: [rows, columns] }: { grid: Grid }) {
  const across = Array.from(
    { length: rows - 1 },
    (_, row) => `M0 ${SIZE * (row + 1)}H${SIZE * columns}`,
  );
  const down = Array.from(
    { length: columns - 1 },
    (_, column) => `M${SIZE * (column + 1)} 0V${SIZE * rows}`,
  );
  return <path class="lines" d={[...across, ...down].join("")} />;
}

function Piece({
  mark,
  row,
  column,
  falls,
  last,
}: {
  mark: string;
  row: number;
  column: number;
  falls: boolean;
  last: boolean;
}) {
  const [x, y] = [SIZE * (column + 0.5), SIZE * (row + 0.5)];
  const whose = PIECES[mark];
  if (!whose)
    return falls ? (
      <circle class="hole" cx={x} cy={y} r={39} />
    ) : mark === "." ? null : (
      <text class="mark" x={x} y={y}>
        {mark}
      </text>
    );
  return (
    <g class={`piece ${whose}${last ? " last" : ""}`} transform={`translate(${x} ${y})`}>
      {falls && <circle class="disc" r={39} />}
      {mark === "X" ? <path d="M-17 -17L17 17M17 -17L-17 17" /> : <circle class="ring" r={19} />}
      {last && <circle class="mark-last" r={falls ? 44 : 40} />}
    </g>
  );
}

/** Describes the position row by row, for people who hear it. */
function spoken(position: string, grid: Grid): string {
  const taken = marks(position, grid).flatMap((line, row) =>
    line.flatMap((mark, column) =>
      mark === "." ? [] : [`${mark} on ${String.fromCharCode(97 + column)}${grid[0] - row}`],
    ),
  );
  return taken.length ? `Board: ${taken.join(", ")}` : "Board: empty";
}
