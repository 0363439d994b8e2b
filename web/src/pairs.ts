/**
 * This file knows the results of two players from both sides, in what their table counts: scores,
 * margins or returns. All of it is pure.
 */
import type { Schemas } from "./api/client";
import type { Objective, Pair } from "./api/reports";
import { decimal, interval, margin, percent } from "./format";
import type { Decided } from "./strength";
import type { Legend, Square } from "./ui/Matrix";

/** What one got of another. */
export type Rate = Schemas["WinRateBody"];
/** What the player got of the opponent. */
export type Met = Schemas["MatrixPairBody"];
export type Changed = Schemas["ChangedPairBody"];

/** How values of an objective are called and written. */
export interface Valued {
  /** "score", "margin" or "return" */
  name: string;
  /** "score of m0 against m1" */
  verb: string;
  /** What the other one is to a player: "opponent", or where returns count, "partner". */
  other: string;
  format: (value: number) => string;
  /** Writes a difference of two values, with its sign. */
  change: (value: number) => string;
  /** Writes what a square has room for. */
  square: (value: number) => string;
}

const points = (value: number) => {
  const rounded = (100 * value).toFixed(1);
  return `${value > 0 ? "+" : ""}${rounded.replace("-", "−")}`;
};

const VALUED: Record<Objective, Valued> = {
  win: {
    name: "score",
    verb: "against",
    other: "opponent",
    format: percent,
    change: (value) => `${points(value)} points`,
    square: (value) => (100 * value).toFixed(0),
  },
  margin: {
    name: "margin",
    verb: "against",
    other: "opponent",
    format: margin,
    change: margin,
    square: (value) => margin(Number(value.toPrecision(2))),
  },
  return: {
    name: "return",
    verb: "beside",
    other: "partner",
    format: decimal,
    change: margin,
    square: (value) => decimal(Number(value.toPrecision(2))),
  },
};

/** Names the players of a game: "m0 against random", "m0 beside m1". */
export function together(names: readonly string[], objective: Objective | null): string {
  return names.join(` ${VALUED[objective ?? "win"].verb} `);
}

export function valued(objective: Objective): Valued {
  return VALUED[objective];
}

/** Returns a pair of the matrix of snapshots in the form of a pair of members. */
export function metOf(pair: Pair): Met {
  const { player, opponent, games, wins, draws, losses } = pair;
  const [value, low, high] =
    pair.margin === null
      ? [pair.score, pair.low, pair.high]
      : [pair.margin, pair.margin_low, pair.margin_high];
  return { player, opponent, games, wins, draws, losses, value, low, high };
}

const turned = (objective: Objective, value: number) => (objective === "win" ? 1 - value : -value);
const turnedEnd = (objective: Objective, end: number | null) =>
  end === null ? null : turned(objective, end);

/** Returns a result as the other side saw it. */
function turnedRate<R extends Rate>(objective: Objective, rate: R): R {
  return {
    ...rate,
    wins: rate.losses,
    losses: rate.wins,
    value: turned(objective, rate.value),
    low: turnedEnd(objective, rate.high),
    high: turnedEnd(objective, rate.low),
  };
}

export const place = (player: string, opponent: string) => `${player} ${opponent}`;

/** Returns each pair from both sides, by `place`. Returns are of each side already. */
export function bothSides(objective: Objective, pairs: readonly Met[]): Map<string, Met> {
  const found = new Map<string, Met>();
  for (const met of pairs) {
    found.set(place(met.player, met.opponent), met);
    if (objective === "return") continue;
    const { player, opponent } = met;
    found.set(place(opponent, player), {
      ...turnedRate(objective, met),
      player: opponent,
      opponent: player,
    });
  }
  return found;
}

/** Returns each change from both sides, by `place`. */
export function bothChanged(objective: Objective, pairs: readonly Changed[]): Map<string, Changed> {
  const found = new Map<string, Changed>();
  for (const one of pairs) {
    found.set(place(one.player, one.opponent), one);
    if (objective === "return") continue;
    found.set(place(one.opponent, one.player), {
      ...one,
      player: one.opponent,
      opponent: one.player,
      before: turnedRate(objective, one.before),
      after: turnedRate(objective, one.after),
      difference: -one.difference,
      low: less(one.high),
      high: less(one.low),
    });
  }
  return found;
}

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

/** The values between which colours go from orange to blue. */
export type Scale = readonly [low: number, high: number];

/** Returns the scale of a matrix: all scores, margins as far as they go, or the returns found. */
export function scaleOf(objective: Objective, values: readonly number[]): Scale {
  if (objective === "win") return [0, 1];
  const [least, most] = [Math.min(...values, 0), Math.max(...values, 0)];
  if (objective === "margin") {
    const widest = Math.max(-least, most) || 1;
    return [-widest, widest];
  }
  const [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
  return low < high ? [low, high] : [low - 1, high + 1];
}

export function shade(value: number, [low, high]: Scale): number {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}

export function squareOf(objective: Objective, met: Met, scale: Scale): Square {
  const { square } = valued(objective);
  return { shade: shade(met.value, scale), games: met.games, text: square(met.value) };
}

export function legendOf(objective: Objective, scale: Scale): Legend {
  const write =
    objective === "win" ? (value: number) => percent(value, 0) : valued(objective).square;
  return {
    low: write(scale[0]),
    middle: write((scale[0] + scale[1]) / 2),
    high: write(scale[1]),
    note: "pale with few games, empty where they never met",
  };
}

/** Writes "66.4 % [60.1 %, 71.2 %], 240 games, 150 won, 20 drawn, 70 lost". */
export function rateText(objective: Objective, rate: Rate): string {
  const { format } = valued(objective);
  const value = objective === "margin" ? `${format(rate.value)} a game` : format(rate.value);
  const known = [value, interval(rate.low, rate.high, format)].filter(Boolean).join(" ");
  const games = `${rate.games} ${rate.games === 1 ? "game" : "games"}`;
  const tally =
    rate.wins === null ? "" : `, ${rate.wins} won, ${rate.draws} drawn, ${rate.losses} lost`;
  return `${known}, ${games}${tally}`;
}

/** Says in words what a square of a matrix shows. */
export function metText(
  objective: Objective,
  row: string,
  column: string,
  met: Met | undefined,
): string {
  if (met) return `${row} ${valued(objective).verb} ${column}: ${rateText(objective, met)}`;
  if (row === column) return `${row}: a player does not play against itself for a rating`;
  return `${row} ${valued(objective).verb} ${column}: they have not met`;
}

/** Writes "45.5 % → 70.0 %, +24.5 points [+7.9 points, +38.7 points]". */
export function changeText(objective: Objective, one: Changed): string {
  const { format, change } = valued(objective);
  const ends = objective === "win" ? points : change;
  const known = [change(one.difference), interval(one.low, one.high, ends)].filter(Boolean);
  return `${format(one.before.value)} → ${format(one.after.value)}, ${known.join(" ")}`;
}

/** Returns the names that hold one of the words of a text; all names for an empty text. */
export function named(names: readonly string[], text: string): string[] {
  const words = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  if (!words.length) return [...names];
  return names.filter((name) => words.some((word) => name.toLowerCase().includes(word)));
}
