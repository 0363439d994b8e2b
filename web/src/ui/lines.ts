/**
 * A line of a chart is the data of one series. This file compares lines and reads values from them.
 */

export type Values = readonly (number | null)[];

/** The lines of a chart: their points, and what is asked about them. */
export interface Line {
  name: string;
  /** The number of the colour; a member has the same one everywhere. */
  colour: number;
  x: readonly number[];
  y: Values;
  /** The interval around y. */
  low?: Values;
  high?: Values;
  /** A value holds until the next one, so the line has steps. */
  steps?: boolean;
  /** Points with a ring: copies of another member. */
  marks?: readonly { x: number; y: number }[];
  points?: boolean;
}

const POINTS_OF_A_CHART = 6400;

/**
 * Returns how many points to ask for, for each of a number of lines: fewer than a chart has pixels,
 * and few enough together that it stays fast.
 */
export function pointsFor(lines: number): number {
  return Math.max(60, Math.min(400, Math.floor(POINTS_OF_A_CHART / Math.max(1, lines))));
}

/** Tells whether lines have the same points. To compare them is much cheaper than to draw them. */
export function same(before: readonly Line[], after: readonly Line[]): boolean {
  const numbers = (a: readonly unknown[] = [], b: readonly unknown[] = []) =>
    a === b || (a.length === b.length && a.every((one, index) => one === b[index]));
  const marks = (line: Line) => (line.marks ?? []).flatMap(({ x, y }) => [x, y]);
  return (
    before.length === after.length &&
    before.every((one, index) => {
      const other = after[index]!;
      const drawn =
        numbers(one.x, other.x) &&
        numbers(one.y, other.y) &&
        numbers(one.low, other.low) &&
        numbers(one.high, other.high);
      return one.name === other.name && drawn && numbers(marks(one), marks(other));
    })
  );
}

/** Returns the value at x, or of the newest point before it. */
export function valueAt(line: Line, x: number, format: (value: number) => string): string {
  let low = 0;
  let high = line.x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.x[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  const value = low > 0 ? line.y[low - 1] : null;
  return value === null || value === undefined ? "–" : format(value);
}
