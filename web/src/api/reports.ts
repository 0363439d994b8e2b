/**
 * These types describe reports that the OpenAPI document leaves open, since the command line prints
 * the same ones.
 */

/** What a number counts: games won, margins or returns. */
export type Objective = "win" | "margin" | "return";

/** A row of ratings. It has `elo` where games won count, `margin` where margins do. */
export interface RatedPlayer {
  /** Within its role. */
  rank: number | null;
  player: string;
  kind: "snapshot" | "scripted" | "guest";
  id: string;
  /** null for a player of any role, such as `random` */
  role: string | null;
  elo?: number | null;
  margin?: number | null;
  low: number | null;
  high: number | null;
  provisional: boolean;
  weights_removed: boolean;
  games: number;
  wins: number;
  draws: number;
  losses: number;
  score: number;
  score_vs_best: number | null;
  games_vs_best: number;
  predicted_vs_best: number | null;
  score_vs_random: number | null;
  opponents: number;
}

/**
 * A row of mean returns. In games of several seats `mean_return` is that with itself in all seats,
 * `cross_play` that beside other players, and `gap` the difference.
 */
export interface ReturnRow {
  /** Within its role; null with too few games. */
  rank: number | null;
  player: string;
  kind: "snapshot";
  id: string;
  role: string;
  frames: number;
  games: number;
  mean_return: number;
  low: number | null;
  high: number | null;
  cross_play: number | null;
  cross_play_games: number;
  gap: number | null;
}

/** What may be claimed of the best of many (`arena.league.best_of_many`). */
export interface BestOfMany {
  candidates: number;
  low: number | null;
  /** The candidate whose lower end that is, and the same lower end of `@best`. */
  low_of: string | null;
  own_low: number | null;
  may_be_best: number | null;
  may_be_untrained?: boolean | null;
  may_be_random: boolean | null;
  /** The numbers of the matches whose games count in no rating. */
  fresh: number[];
  fresh_strength: FreshStrength | null;
}

export interface FreshStrength {
  objective: Objective;
  value: number | null;
  low: number | null;
  high: number | null;
  units: number;
  matches: number;
  /** "against random", "with itself in all seats" or "beside random" */
  seated: string;
}

interface ReportHead {
  population: string;
  everyone: boolean;
  /** null where members play several roles: each has its own in `best_by_role`. */
  best: string | null;
  best_by_role: Record<string, string | null>;
  rating: string;
  unit: string;
  cycles?: Circle[];
  cyclic_share?: CyclicShare;
}

export interface RatedReport extends ReportHead {
  objective: "win" | "margin";
  players: RatedPlayer[];
  best_of_many: Record<string, BestOfMany>;
}

export interface ReturnReport extends ReportHead {
  objective: "return";
  players: ReturnRow[];
  best_of_many?: Record<string, BestOfMany>;
}

export type RatingReport = RatedReport | ReturnReport;

/** Players of which each beats the next. p: the chance of such a circle if ratings explained all */
export interface Circle {
  players: string[];
  p: number;
}

export interface CyclicShare {
  share: number;
  p: number;
}

/** Two players that met. The margin is null unless margins count; low and high are the score's. */
export interface Pair {
  player: string;
  opponent: string;
  games: number;
  wins: number;
  draws: number;
  losses: number;
  score: number;
  low: number;
  high: number;
  margin: number | null;
  margin_low: number | null;
  margin_high: number | null;
  units: number | null;
}

/** Where returns count, no player beats another, and there are no pairs. */
export interface WinMatrixReport {
  table: string;
  objective: Objective;
  players: string[];
  pairs: Pair[];
}

export interface LineageStep {
  frames: number;
  member: string;
  member_frames: number;
  kind: "start" | "join" | "copy" | "mutate" | "edit" | "schedule";
  hyperparams: Record<string, number>;
  changed: string[];
  round: number | null;
  verdict: string;
  donor: { member: string; frames: number; generation: number; snapshot: string | null } | null;
}

export interface Lineage {
  player: string;
  member: string;
  frames: number;
  generation: number;
  snapshot: string | null;
  lineage_frames: number;
  steps: LineageStep[];
}

/** The margin of a match of two, seen by its first player (`MarginReport` of the service). */
export interface Margin {
  units: number;
  mean: number;
  low: number | null;
  high: number | null;
  interval: string;
  los: number | null;
}

export interface Tally {
  wins: number;
  draws: number;
  losses: number;
}

/**
 * The numbers of a match of two, seen by its first player. The `statistics` of a stored match and
 * the `report` of one that the service plays have these names in common.
 */
export interface Duel extends Tally {
  games: number;
  score: number;
  low: number;
  high: number;
  /** null unless margins decide; reports of earlier versions have none */
  margin?: Margin | null;
  /** "sequence": the intervals hold at any stop, since a sequential test may stop the match */
  interval: string;
  elo: number | null;
  elo_low: number | null;
  elo_high: number | null;
  nelo: number | null;
  nelo_low: number | null;
  nelo_high: number | null;
  los: number | null;
  pair_counts: readonly number[] | null;
  as_first: Tally;
  as_second: Tally;
  first_against_second: Tally;
  distinct: number;
  errors: number;
  forfeits: number;
  mean_length: number;
  length_deviation: number;
}

/**
 * The report of a match that the service plays. Only a `duel` has the numbers of one; other kinds are
 * of larger tables, more players, and games in which returns count.
 */
export interface MatchReport extends Duel {
  kind: "duel" | "table" | "partners";
  verdict: string;
  notes: readonly string[];
}

/** Returns the game that a population plays, by its config; undefined until that is known. */
export function gameOf(
  body: { spec: { config?: Record<string, unknown> | null } } | undefined,
): string | undefined {
  return (body?.spec.config?.["env"] as { name: string } | undefined)?.name;
}
