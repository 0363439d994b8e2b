/**
 * This file draws intervals: that of a line alone as a band. Bands of several lines would lie over
 * each other, and their transparent colours would mix to grey, so each of their points has a bar
 * beside those of the others, in the colour of its line. All of it is pure.
 */
import type { Line } from "./lines";

/** The interval of a line over x. */
export type Banded = Required<Pick<Line, "x" | "low" | "high">>;

/** Where values lie, in pixels. */
export interface Placing {
  x: (value: number) => number;
  y: (value: number) => number;
}

/** Which of `count` intervals side by side a line has. */
export interface Turn {
  index: number;
  count: number;
}

/** How dark a band is, and a bar. */
export const FILLED = 0.18;
export const STROKED = 0.55;
/** Width of a bar, in pixels. */
export const BAR = 2;
/** From a bar to the next one beside it, in pixels. */
const BESIDE = 4;

/** Returns the turn of each line that has an interval. */
export function turnsOf(lines: readonly Line[]): Map<Line, Turn> {
  const own = lines.filter(({ low, high }) => low && high);
  return new Map(own.map((line, index) => [line, { index, count: own.length }]));
}

type Edge = readonly [x: number, high: number, low: number];

function edges({ x, low, high }: Banded, place: Placing): Edge[] {
  return x.flatMap((at, index): Edge[] => {
    const [least, most] = [low[index] ?? null, high[index] ?? null];
    return least === null || most === null ? [] : [[place.x(at), place.y(most), place.y(least)]];
  });
}

const round = (value: number) => Math.round(value * 10) / 10;

/** Returns the outline of a band as the path of an SVG; "" where it has none. */
export function outline(band: Banded, place: Placing): string {
  const known = edges(band, place).map((edge) => edge.map(round));
  if (!known.length) return "";
  const above = known.map(([x, high]) => `${x} ${high}`);
  const below = known.map(([x, , low]) => `${x} ${low}`).reverse();
  return `M${[...above, ...below].join("L")}z`;
}

/**
 * Returns the intervals of a band's points as bars, the path of an SVG. Bars of other lines stand
 * beside them; where points are dense, some have none, so that bars stay apart.
 * scale: pixels of the picture for one of the screen
 */
export function bars(band: Banded, place: Placing, { index, count }: Turn, scale = 1): string {
  const aside = (index - (count - 1) / 2) * BESIDE * scale;
  const room = (count + 1) * BESIDE * scale;
  let [path, before] = ["", -Infinity];
  for (const [x, high, low] of edges(band, place)) {
    if (x - before < room) continue;
    path += `M${round(x + aside)} ${round(high)}V${round(low)}`;
    before = x;
  }
  return path;
}

/** Returns a band as a shape of a picture that can be saved. */
export function bandShape(of: Banded, colour: string, place: Placing, turn: Turn) {
  const path = { kind: "path", clipped: true } as const;
  return turn.count === 1
    ? { ...path, d: outline(of, place), fill: colour, opacity: FILLED }
    : { ...path, d: bars(of, place, turn), stroke: colour, width: BAR, opacity: STROKED };
}
