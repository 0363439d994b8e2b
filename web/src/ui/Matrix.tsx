/**
 * `Matrix` draws the matrix of scores or margins: a square for every two players. All of them are on
 * one canvas, since there may be 200 x 200.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Pair, WinMatrixReport } from "../api/reports";
import { interval, short } from "../format";
import { type Decided, headlineOf } from "../strength";
import { inkOn, scoreColour, token } from "./colours";
import { dark } from "./theme";

const MOST_PX = 46;
const LEAST_PX = 7;
/** A square of this size has room for a number. */
const TEXT_PX = 30;
const LABEL_PX = 88;
const MATRIX_KEYS = "arrow keys move, the numbers stand below";

/** A pair as a square of the matrix: the numbers are those of the player of the row. */
export interface Cell extends Decided, Pick<Pair, "games" | "wins" | "draws" | "losses"> {
  row: string;
  column: string;
}

/** Returns both directions of every pair, by "row column". */
export function cells(pairs: readonly Pair[]): Map<string, Cell> {
  const found = new Map<string, Cell>();
  for (const pair of pairs) {
    const { player, opponent, games, draws } = pair;
    found.set(`${player} ${opponent}`, {
      row: player,
      column: opponent,
      games,
      draws,
      wins: pair.wins,
      losses: pair.losses,
      score: pair.score,
      low: pair.low,
      high: pair.high,
      margin:
        pair.margin === null
          ? null
          : { mean: pair.margin, low: pair.margin_low, high: pair.margin_high },
    });
    found.set(`${opponent} ${player}`, {
      row: opponent,
      column: player,
      games,
      draws,
      wins: pair.losses,
      losses: pair.wins,
      score: 1 - pair.score,
      low: 1 - pair.high,
      high: 1 - pair.low,
      margin:
        pair.margin === null
          ? null
          : { mean: -pair.margin, low: less(pair.margin_high), high: less(pair.margin_low) },
    });
  }
  return found;
}

function less(end: number | null): number | null {
  return end === null ? null : -end;
}

/** Returns what colours a square, as a score: the largest margin of all pairs is as a win. */
export function shade(cell: Cell, most: number): number {
  return cell.margin ? 0.5 + cell.margin.mean / (2 * (most || 1)) : cell.score;
}

/** Writes what a square has room for: a percentage without its sign, or two digits of a margin. */
export function squareText(cell: Cell): string {
  if (!cell.margin) return (100 * cell.score).toFixed(0);
  return headlineOf(cell).format(Number(cell.margin.mean.toPrecision(2)));
}

/** open: called with the players of a square, whether or not they have met */
export function Matrix({
  of,
  open,
}: {
  of: WinMatrixReport;
  open?: (row: string, column: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<[number, number] | null>(null);
  const names = of.players;
  const known = cells(of.pairs);
  const what = of.objective === "margin" ? "margin" : "score";
  const size = Math.max(
    LEAST_PX,
    Math.min(MOST_PX, Math.floor((width - LABEL_PX) / Math.max(1, names.length))),
  );

  useEffect(() => {
    const resized = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    if (box.current) resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width) draw(canvas.current, names, known, size, at);
  }, [of, size, width, at, dark.value]);

  const place = (event: MouseEvent): [number, number] | null => {
    const row = Math.floor((event.offsetY - LABEL_PX) / size);
    const column = Math.floor((event.offsetX - LABEL_PX) / size);
    return row >= 0 && column >= 0 && row < names.length && column < names.length
      ? [row, column]
      : null;
  };
  const here = at ? known.get(`${names[at[0]]} ${names[at[1]]}`) : undefined;
  const choose = () => {
    if (at && at[0] !== at[1]) open?.(names[at[0]]!, names[at[1]]!);
  };
  const move = (event: KeyboardEvent) => {
    const [row, column] = at ?? [0, 0];
    const last = names.length - 1;
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
      event.key
    ];
    if (step) {
      event.preventDefault();
      setAt(
        at
          ? [
              Math.min(last, Math.max(0, row + step[0]!)),
              Math.min(last, Math.max(0, column + step[1]!)),
            ]
          : [0, 0],
      );
    } else if (event.key === "Enter") choose();
  };
  return (
    <div ref={box}>
      <p class="under" aria-live="polite">
        {at
          ? described(names[at[0]]!, names[at[1]]!, here)
          : `Point at a square, or move with the arrow keys: the row's ${what} against the column.`}
      </p>
      <div class="scroll">
        <canvas
          ref={canvas}
          class={open ? "matrix opens" : "matrix"}
          tabIndex={0}
          role="img"
          aria-label={`Matrix of the ${what}s of ${names.length} players; ${MATRIX_KEYS}`}
          onMouseMove={(event) => setAt(place(event))}
          onMouseLeave={() => setAt(null)}
          onClick={choose}
          onKeyDown={move}
        />
      </div>
    </div>
  );
}

/** Says in words what a square shows. */
function described(row: string, column: string, cell: Cell | undefined): string {
  if (row === column) return `${row}: a player does not play against itself for a rating`;
  if (!cell) return `${row} against ${column}: they have not met`;
  const { text, low, high, tick } = headlineOf(cell);
  const games = `${cell.games} games, ${cell.wins} won, ${cell.draws} drawn, ${cell.losses} lost`;
  return `${row} against ${column}: ${text} ${interval(low, high, tick)}, ${games}`;
}

function draw(
  canvas: HTMLCanvasElement,
  names: readonly string[],
  known: ReadonlyMap<string, Cell>,
  size: number,
  at: [number, number] | null,
): void {
  const side = LABEL_PX + size * names.length + 1;
  const scale = devicePixelRatio;
  canvas.width = canvas.height = side * scale;
  canvas.style.width = canvas.style.height = `${side}px`;
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  pen.textBaseline = "middle";
  labels(pen, names, size);
  pen.textAlign = "center";
  pen.font = "11px system-ui, sans-serif";
  const most = Math.max(...[...known.values()].map((cell) => Math.abs(cell.margin?.mean ?? 0)));
  names.forEach((row, y) =>
    names.forEach((column, x) => {
      const cell = known.get(`${row} ${column}`);
      if (!cell) return;
      const colour = scoreColour(shade(cell, most), cell.games, dark.value);
      const [left, top] = [LABEL_PX + x * size, LABEL_PX + y * size];
      pen.fillStyle = colour;
      pen.fillRect(left, top, size - 1, size - 1);
      if (size >= TEXT_PX) {
        pen.fillStyle = inkOn(colour);
        pen.fillText(squareText(cell), left + size / 2, top + size / 2);
      }
    }),
  );
  if (at) {
    pen.strokeStyle = token("ink");
    pen.lineWidth = 2;
    pen.strokeRect(LABEL_PX + at[1] * size, LABEL_PX + at[0] * size, size - 1, size - 1);
  }
}

function labels(pen: CanvasRenderingContext2D, names: readonly string[], size: number): void {
  const every = Math.max(1, Math.ceil(13 / size));
  pen.fillStyle = token("ink-soft");
  pen.font = "12px system-ui, sans-serif";
  names.forEach((name, index) => {
    if (index % every) return;
    const middle = LABEL_PX + index * size + size / 2;
    const text = fitted(pen, short(name));
    pen.textAlign = "right";
    pen.fillText(text, LABEL_PX - 6, middle);
    pen.save();
    pen.translate(middle, LABEL_PX - 6);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "left";
    pen.fillText(text, 0, 0);
    pen.restore();
  });
}

function fitted(pen: CanvasRenderingContext2D, text: string): string {
  if (pen.measureText(text).width <= LABEL_PX - 8) return text;
  let cut = text.length;
  while (cut > 1 && pen.measureText(`${text.slice(0, cut)}…`).width > LABEL_PX - 8) cut -= 1;
  return `${text.slice(0, cut)}…`;
}
