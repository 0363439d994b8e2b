/**
 * These types describe reports that the OpenAPI document leaves open, since the command line prints
 * the same ones.
 */

export interface RatedPlayer {
  rank: number | null;
  player: string;
  kind: "snapshot" | "scripted" | "guest";
  id: string;
  elo: number | null;
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

/** A row of mean returns: a game of one seat has no winner. */
export interface ReturnRow {
  player: string;
  kind: "snapshot";
  id: string;
  games: number;
  mean_return: number;
  low: number | null;
  high: number | null;
}

export interface RatingReport {
  population: string;
  everyone: boolean;
  best: string | null;
  rating: string;
  players: RatedPlayer[] | ReturnRow[];
  cycles?: Circle[];
  cyclic_share?: CyclicShare;
}

/** Players of which each beats the next. p: the chance of such a circle if ratings explained all */
export interface Circle {
  players: string[];
  p: number;
}

export interface CyclicShare {
  share: number;
  p: number;
}

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
}

export interface WinMatrixReport {
  table: string;
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

/** Tells whether the rows are ratings. Games of one seat have rows of returns instead. */
export function isRated(rows: RatingReport["players"]): rows is RatedPlayer[] {
  return rows.every((row) => "elo" in row);
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
  /** "sequence": the intervals hold at any stop, since a sequential test may stop the match */
  interval: string;
  elo: number | null;
  elo_low: number | null;
  elo_high: number | null;
  nelo: number | null;
  nelo_low: number | null;
  nelo_high: number | null;
  los: number;
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
