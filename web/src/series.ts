/**
 * This file works on series of several populations: other axes than frames, smoothing, and the
 * means of runs that differ in their seeds. All of it is pure.
 */
import { type Line, type Values } from "./ui/lines";
import { between, evenPlaces } from "./ui/summary";

/** A number of one member over the frames of its clock. */
export interface Series {
  population: string;
  member: string;
  x: readonly number[];
  y: Values;
  low?: Values;
  high?: Values;
}

/** What another axis says at the frames of a member, such as seconds or games. */
export interface Clock {
  frames: readonly number[];
  at: readonly number[];
}

/** Returns a series over another axis. Points that the clock does not reach are left out. */
export function overClock(series: Series, { frames, at }: Clock): Series {
  const clock: Line = { name: "", colour: 0, x: frames, y: at };
  const places = series.x.map((x) => between(clock, x));
  const kept = <T>(values: readonly T[]) => values.filter((_, index) => places[index] !== null);
  const { low, high } = series;
  return {
    ...series,
    x: places.filter((x) => x !== null),
    y: kept(series.y),
    ...(low && high && { low: kept(low), high: kept(high) }),
  };
}

/**
 * Returns the means of the values around each x, in a window of this share of the whole axis. They
 * have no intervals: those were of single values.
 */
export function smoothed<One extends Pick<Series, "x" | "y">>(series: One, share: number): One {
  const { x, y } = series;
  if (share <= 0 || x.length < 2) return series;
  const reach = ((x.at(-1)! - x[0]!) * share) / 2;
  let [first, last, sum, known] = [0, 0, 0, 0];
  const add = (value: number | null, times: 1 | -1) => {
    if (value === null) return;
    sum += times * value;
    known += times;
  };
  const means = x.map((at, index) => {
    while (last < x.length && x[last]! <= at + reach) add(y[last++] ?? null, 1);
    while (x[first]! < at - reach) add(y[first++] ?? null, -1);
    return y[index] === null || known === 0 ? null : sum / known;
  });
  return { ...series, y: means, low: undefined, high: undefined };
}

/** Populations that are runs of one thing. */
export interface Group {
  name: string;
  of: readonly string[];
}

/**
 * Returns the groups of populations whose names differ in the number at their end only, as those of
 * a comparison do (`try-a1`, `try-a2`). Another population is a group of its own.
 */
export function groupsOf(names: readonly string[]): Group[] {
  const found = new Map<string, string[]>();
  for (const name of names) {
    const stem = name.replace(/[-_]?\d+$/, "") || name;
    found.set(stem, [...(found.get(stem) ?? []), name]);
  }
  return [...found].map(([stem, of]) => ({ name: of.length > 1 ? stem : of[0]!, of }));
}

/** The values of a mean are at so many places at most. */
const PLACES = 160;

/**
 * Returns the mean of several series with the range from the lowest to the highest. There is none
 * where fewer than this share of them have a value: it would be of others than elsewhere.
 */
export function meanOf(
  all: readonly Pick<Series, "x" | "y">[],
  share = 1,
): { x: number[]; y: number[]; low: number[]; high: number[] } {
  const lines = all.map(({ x, y }): Line => ({ name: "", colour: 0, x, y }));
  const found = { x: [] as number[], y: [] as number[], low: [] as number[], high: [] as number[] };
  for (const x of evenPlaces(lines, PLACES)) {
    const values = lines.flatMap((line) => between(line, x) ?? []);
    if (values.length === 0 || values.length < share * lines.length) continue;
    found.x.push(x);
    found.y.push(values.reduce((sum, value) => sum + value, 0) / values.length);
    found.low.push(Math.min(...values));
    found.high.push(Math.max(...values));
  }
  return found;
}

/** What one line stands for: a member, a population, or the runs of a group. */
export const BY = ["members", "populations", "groups"] as const;
export type By = (typeof BY)[number];

/** With half of its members a population has a mean: one can have ended early. */
const ENOUGH_MEMBERS = 0.5;

/** Returns the lines of a chart. */
export function linesBy(series: readonly Series[], by: By): Line[] {
  if (by === "members")
    return series.map(({ population, member, ...rest }, colour) => ({
      name: `${population}/${member}`,
      colour,
      ...rest,
    }));
  const names = [...new Set(series.map(({ population }) => population))];
  const means = new Map(
    names.map((name) => [
      name,
      meanOf(
        series.filter(({ population }) => population === name),
        ENOUGH_MEMBERS,
      ),
    ]),
  );
  if (by === "populations")
    return names.map((name, colour) => ({ name, colour, ...means.get(name)! }));
  return groupsOf(names).map(({ name, of }, colour) => ({
    name: of.length > 1 ? `${name} (${of.length} runs)` : name,
    colour,
    ...(of.length > 1 ? meanOf(of.map((one) => means.get(one)!)) : means.get(of[0]!)!),
  }));
}
