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
    const value = first.mean_return;
    return {
      text: `${[...new Set(texts)].join(" – ")} a game`,
      interval: "",
      detail: games,
      value,
    };
  }
  if (standings.length > 2) {
    const most = standings.reduce((best, one) => (one.wins > best.wins ? one : best));
    const label = labels[standings.indexOf(most)] ?? "";
    const text = `${label} first in ${most.wins}`;
    return { text, interval: "", detail: games, value: most.wins };
  }
  const counts = `${first.wins} won, ${first.draws} drawn, ${first.losses} lost`;
  if (objective === "margin") {
    const lead = (first.mean_return - second.mean_return) / 2;
    const range = of ? interval(of.low, of.high, margin) : "";
    return { text: `${margin(lead)} a game`, interval: range, detail: counts, value: lead };
  }
  const score = (first.wins + first.draws / 2) / first.games;
  const range = of ? interval(of.low, of.high, (share) => percent(share, 0)) : "";
  return { text: percent(score), interval: range, detail: counts, value: score };
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
