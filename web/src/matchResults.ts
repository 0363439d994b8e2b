/** This file says what came of a match, and writes games as rows of a file. All of it is pure. */
import type { Got } from "./api/client";
import { decimal, interval, margin, percent } from "./format";

export type StoredMatch = Got<"/v1/matches">["items"][number];
export type Game = Got<"/v1/matches/{match_id}/games">["items"][number];

export interface MatchResult {
  /** What the first player has, or of more than two, which player was first most often. */
  text: string;
  /** Its 95 % interval; "" where there is none. */
  interval: string;
  /** How many games that is. */
  detail: string;
  /** The same as one number. */
  value: number;
}

const wholePercent = (share: number) => percent(share, 0);

function rangeOf(of: StoredMatch["interval"], format: (value: number) => string): string {
  return of ? interval(of.low, of.high, format) : "";
}

/**
 * Returns what came of a match so far; null before its first game.
 * labels: of its players
 */
export function resultOf(
  { standings, objective, interval: of }: Pick<StoredMatch, "standings" | "objective" | "interval">,
  labels: readonly string[],
): MatchResult | null {
  const [first, second] = standings;
  if (!first) return null;
  const games = `${first.games} ${first.games === 1 ? "game" : "games"}`;
  if (objective === "return" || !second) {
    const texts = standings.map((one) => decimal(one.mean_return));
    const ranges = standings.map((one) => rangeOf(one.interval, decimal));
    return {
      text: `${[...new Set(texts)].join(" – ")} a game`,
      interval: ranges.every(Boolean) ? [...new Set(ranges)].join(" – ") : "",
      detail: games,
      value: first.mean_return,
    };
  }
  if (standings.length > 2) {
    const margins = objective === "margin";
    const key = margins ? "mean_return" : "wins";
    const most = standings.reduce((best, one) => (one[key] > best[key] ? one : best));
    const label = labels[standings.indexOf(most)] ?? "";
    const value = margins ? most.mean_return : most.wins / most.games;
    return {
      text: margins ? `${label} ${margin(value)} a game` : `${label} first in ${percent(value)}`,
      interval: rangeOf(most.interval, margins ? margin : wholePercent),
      detail: games,
      value,
    };
  }
  const counts = `${first.wins} won, ${first.draws} drawn, ${first.losses} lost`;
  if (objective === "margin") {
    const lead = (first.mean_return - second.mean_return) / 2;
    return {
      text: `${margin(lead)} a game`,
      interval: rangeOf(of, margin),
      detail: counts,
      value: lead,
    };
  }
  const score = (first.wins + first.draws / 2) / first.games;
  return {
    text: percent(score),
    interval: rangeOf(of, wholePercent),
    detail: counts,
    value: score,
  };
}

type Cell = string | number | boolean | null;

/** Returns the columns and rows of games: a few columns for each seat, after the rest. */
export function gameRows(games: readonly Game[]): { columns: string[]; rows: Cell[][] } {
  const seats = Math.max(0, ...games.map((game) => game.seats.length));
  const own = [
    "id",
    "number",
    "kind",
    "match",
    "pair",
    "seed",
    "steps",
    "frames",
    "end_reason",
    "greedy",
    "committed_at",
  ] as const;
  const of = ["player", "place", "returns"] as const;
  const numbers = Array.from({ length: seats }, (_, seat) => seat);
  return {
    columns: [...own, ...numbers.flatMap((seat) => of.map((name) => `${name}_${seat + 1}`))],
    rows: games.map((game) => [
      ...own.map((name) => game[name]),
      ...numbers.flatMap((seat) => of.map((name) => game.seats[seat]?.[name] ?? null)),
    ]),
  };
}
