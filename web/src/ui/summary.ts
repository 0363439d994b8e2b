/**
 * This file sums up many lines: their median with the band of their middle half, the highest and
 * the lowest at the end, and how equal steps are drawn beside each other. All of it is pure.
 */
import type { Line } from "./lines";

/** With more lines than this a chart shows their median with a band, and single ones when asked. */
export const MANY_LINES = 8;

const PLACES = 160;
/**
 * Clocks of members differ a little. Up to this part of all x beyond its ends a line counts with
 * its end, so that the median does not jump where the first lines end.
 */
const SLACK = 0.05;

/** What many lines have in common, at some places of x. */
export interface Summary {
  x: number[];
  low: (number | null)[];
  median: (number | null)[];
  high: (number | null)[];
  /** Of all points since the place before, so that no line leaves the chart. */
  least: (number | null)[];
  greatest: (number | null)[];
}

/** Returns the value of a line at x, between its points; null outside of them. */
export function between({ x, y, steps }: Line, at: number): number | null {
  if (x.length === 0 || at < x[0]! || at > x.at(-1)!) return null;
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [y[low - 1] ?? null, y[low] ?? null];
  if (before === null || steps || low === x.length || x[low - 1] === at) return before;
  if (after === null) return null;
  const [from, to] = [x[low - 1]!, x[low]!];
  return before + ((after - before) * (at - from)) / (to - from);
}

/** Returns a quantile of numbers that are in order, between the nearest two. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return low + (high - low) * (at - Math.floor(at));
}

/**
 * Returns the median of lines and the quarters around it, at places over all their x. Where fewer
 * than half of the lines have a value there is none: it would be of others than elsewhere.
 * chosen: names of lines whose intervals are drawn, too
 */
export function summaryOf(
  lines: readonly Line[],
  chosen: ReadonlySet<string> = new Set(),
): Summary {
  const x = evenPlaces(lines, PLACES);
  const found: Summary = { x, low: [], median: [], high: [], ...bounds(lines, x, chosen) };
  const slack = x.length ? SLACK * (x.at(-1)! - x[0]!) : 0;
  for (const at of x) {
    const values = lines.flatMap((line) => near(line, at, slack) ?? []).sort((a, b) => a - b);
    const enough = 2 * values.length >= lines.length && values.length > 0;
    found.low.push(enough ? quantile(values, 0.25) : null);
    found.median.push(enough ? quantile(values, 0.5) : null);
    found.high.push(enough ? quantile(values, 0.75) : null);
  }
  return found;
}

/** Returns the value of a line at x, or of its end where that is no further away than `slack`. */
function near(line: Line, at: number, slack: number): number | null {
  const [first, last] = [line.x[0], line.x.at(-1)];
  if (first === undefined || last === undefined) return null;
  if (at < first - slack || at > last + slack) return null;
  return between(line, Math.max(first, Math.min(last, at)));
}

/** Returns all x of lines, or where these are more, as many places that are evenly apart. */
export function evenPlaces(lines: readonly Line[], most: number): number[] {
  const all = [...new Set(lines.flatMap(({ x }) => [...x]))].sort((a, b) => a - b);
  if (all.length <= most) return all;
  const [first, last] = [all[0]!, all.at(-1)!];
  return Array.from({ length: most }, (_, i) => first + ((last - first) * i) / (most - 1));
}

function bounds(
  lines: readonly Line[],
  x: readonly number[],
  chosen: ReadonlySet<string>,
): Pick<Summary, "least" | "greatest"> {
  const least = new Array<number | null>(x.length).fill(null);
  const greatest = new Array<number | null>(x.length).fill(null);
  for (const line of lines) {
    let place = 0;
    line.x.forEach((at, index) => {
      const value = line.y[index] ?? null;
      while (place < x.length - 1 && x[place]! < at) place += 1;
      if (value === null) return;
      const drawn = chosen.has(line.name);
      const low = (drawn ? line.low?.[index] : null) ?? value;
      const high = (drawn ? line.high?.[index] : null) ?? value;
      least[place] = Math.min(least[place] ?? low, low);
      greatest[place] = Math.max(greatest[place] ?? high, high);
    });
  }
  return { least, greatest };
}

/** Returns the names of the lines that are highest and lowest at their ends; null of one. */
export function extremes(lines: readonly Line[]): { highest: string; lowest: string } | null {
  const ends = lines.flatMap((line) => {
    const value = line.y.findLast((one) => one !== null);
    return value === undefined || value === null ? [] : [{ name: line.name, value }];
  });
  if (ends.length < 2) return null;
  const highest = ends.reduce((a, b) => (b.value > a.value ? b : a));
  const lowest = ends.reduce((a, b) => (b.value < a.value ? b : a));
  return highest.name === lowest.name ? null : { highest: highest.name, lowest: lowest.name };
}

/** The colour of a line that is only pointed at. */
const POINTED_COLOUR = 3;
/** The colours of lines that were chosen, in their order, after those of the ends. */
const CHOSEN_COLOURS = [2, 4, 6, 5, 7];

/**
 * Returns many lines in the colours that they have in front: the highest blue, the lowest orange,
 * and those that were chosen in the order of the choice. So few colours are told apart without
 * dashes, and a chosen line has the same one in all charts of a view.
 * ends: the highest and the lowest line
 */
export function frontColours(
  lines: readonly Line[],
  ends: readonly Line[],
  chosen: readonly string[],
): Line[] {
  return lines.map((line) => {
    const end = ends.findIndex(({ name }) => name === line.name);
    const place = chosen.indexOf(line.name);
    const front = place < 0 ? POINTED_COLOUR : CHOSEN_COLOURS[place % CHOSEN_COLOURS.length]!;
    return { ...line, colour: place < 0 && end >= 0 ? end : front };
  });
}

/**
 * Returns for each line by how many widths of a line it is drawn above its value, so that lines
 * with the same value at the same time lie beside each other. Lines that meet no other stay where
 * they are.
 */
export function offsetsOf(lines: readonly Line[]): number[] {
  const meets = lines.map((line) => lines.map((other) => line !== other && coincide(line, other)));
  const tracks: number[] = [];
  lines.forEach((_, index) => {
    if (!meets[index]!.some(Boolean)) return;
    const taken = new Set(tracks.filter((_, other) => meets[index]![other]));
    let track = 0;
    while (taken.has(track)) track += 1;
    tracks[index] = track;
  });
  const most = Math.max(0, ...tracks.filter((track) => track !== undefined));
  return lines.map((_, index) => (tracks[index] === undefined ? 0 : most / 2 - tracks[index]!));
}

/** Tells whether two lines with steps have the same value for a while. */
function coincide(a: Line, b: Line): boolean {
  if (!a.steps || !b.steps) return false;
  return [...a.x.slice(0, -1), ...b.x.slice(0, -1)].some((x) => {
    const value = between(a, x);
    return value !== null && value === between(b, x);
  });
}
