/**
 * This file says what the rows of a rating report are worth: the number, how it is written and what
 * it is called, by the objective of the report. All of it is pure.
 */
import type { Margin, Objective, RatedPlayer, RatingReport, ReturnRow } from "./api/reports";
import { decimal, elo, interval, margin, percent } from "./format";

export type ReportRow = RatedPlayer | ReturnRow;

/** What the numbers of an objective are. */
export interface Counted {
  /** What a number is called, with its unit. */
  name: string;
  /** The title of the chart of them. */
  title: string;
  /** What decides a match. */
  decides: string;
  format: (value: number) => string;
  /** A number that is already written, in a sentence: "margin +0.66 a game". */
  amount: (number: string) => string;
}

const COUNTED: Record<Objective, Counted> = {
  win: {
    name: "Elo",
    title: "Rating over frames",
    decides: "games won",
    format: elo,
    amount: (number) => `Elo ${number}`,
  },
  margin: {
    name: "margin a game",
    title: "Rating over frames",
    decides: "margins",
    format: margin,
    amount: (number) => `margin ${number} a game`,
  },
  return: {
    name: "mean return",
    title: "Return over frames",
    decides: "returns",
    format: decimal,
    amount: (number) => `return ${number} a game`,
  },
};

export function countedIn(objective: Objective): Counted {
  return COUNTED[objective];
}

/**
 * Writes what the seats of a game gained, in their order: "500", or "+3, −3"; "−12.5 each" where
 * all gained the same.
 */
export function gainsText(gains: readonly number[], objective: Objective): string {
  const { format } = COUNTED[objective];
  const shared = gains.length > 1 && gains.every((one) => one === gains[0]);
  return shared ? `${format(gains[0]!)} each` : gains.map(format).join(", ");
}

/** How strong a player is, in what its report counts. */
export interface Strength {
  value: number | null;
  low: number | null;
  high: number | null;
  /** The number that is claimed: the value, or the bound where an end of the interval is open. */
  point: number | null;
  /** The same as a person reads it: "+312", ">= +640"; null where nothing is known. */
  text: string | null;
  /** "[+250, +374]"; "" where an end is open or there is no interval. */
  interval: string;
  /** Why there is no number. */
  why: string;
}

const ANCHOR = "random";

function valueOf(row: ReportRow): number | null {
  if ("mean_return" in row) return row.mean_return;
  return "margin" in row ? row.margin : row.elo;
}

export function strengthOf(row: ReportRow, objective: Objective): Strength {
  const { format } = COUNTED[objective];
  const { low, high } = row;
  const value = valueOf(row);
  const why = "no chain of games connects it to the others";
  if (value === null) return { value, low, high, point: null, text: null, interval: "", why };
  if (low === null && high === null) {
    const known = "mean_return" in row || row.player === ANCHOR;
    const [point, text] = known ? [value, format(value)] : [null, null];
    return { value, low, high, point, text, interval: "", why: "its games give no interval" };
  }
  const ends = interval(low, high, format);
  // A player that never lost, or never won, is known by one bound.
  return low === null || high === null
    ? { value, low, high, point: low ?? high, text: ends, interval: "", why }
    : { value, low, high, point: value, text: format(value), interval: ends, why };
}

/** The best of each role; of the one role without its name. */
export function bestOf(report: RatingReport): { name: string; role: string; id: string | null }[] {
  const roles = Object.entries(report.best_by_role);
  return roles.map(([role, id]) => ({
    name: `${report.population}${roles.length > 1 ? `/${role}` : ""}@best`,
    role,
    id,
  }));
}

/** One table of a report. role: null where all play the same one */
export interface RoleTable<Row> {
  role: string | null;
  rows: Row[];
}

/**
 * Returns a table for each role, sorted by name, or one of all rows. Players of any role, such as
 * `random`, stand in each.
 */
export function roleTables<Row extends { role: string | null }>(
  rows: readonly Row[],
): RoleTable<Row>[] {
  const roles = [...new Set(rows.flatMap(({ role }) => role ?? []))].sort();
  if (roles.length < 2) return [{ role: null, rows: [...rows] }];
  return roles.map((role) => ({
    role,
    rows: rows.filter((row) => row.role === null || row.role === role),
  }));
}

/** What decides a match of two, seen by its first player: the score, or the margin. */
export interface Headline {
  /** "Score", or "Margin" */
  name: string;
  value: number;
  low: number | null;
  high: number | null;
  /** The value between two equal players. */
  even: number;
  format: (value: number) => string;
  /** The same at an axis. */
  tick: (value: number) => string;
  /** "+0.66 a game" */
  text: string;
  /** "[+0.2, +1.1]" */
  interval: string;
}

/** The part of the statistics of a match that decides it. */
export interface Decided {
  score: number;
  low: number;
  high: number;
  margin?: Pick<Margin, "mean" | "low" | "high"> | null;
}

export function headlineOf({ score, low, high, margin: chips }: Decided): Headline {
  if (!chips) {
    return {
      name: "Score",
      value: score,
      low,
      high,
      even: 0.5,
      format: percent,
      tick: (share) => percent(share, 0),
      text: percent(score),
      interval: interval(low, high, percent),
    };
  }
  return {
    name: "Margin",
    value: chips.mean,
    low: chips.low,
    high: chips.high,
    even: 0,
    format: margin,
    tick: margin,
    text: `${margin(chips.mean)} a game`,
    interval: interval(chips.low, chips.high, margin),
  };
}
