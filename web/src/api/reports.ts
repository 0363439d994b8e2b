/** These are short names of types of the OpenAPI document, for reports about strength. */
import type { Got, Schemas } from "./client";

/** What a number counts: games won, margins or returns. */
export type Objective = WinMatrixReport["objective"];

/** The rating table of a population; `objective` says which kind it is. */
export type RatingReport = Got<"/v1/ratings">;
/** A row of ratings. It has `elo` where games won count, `margin` where margins do. */
export type RatedPlayer = Schemas["EloRatedBody"] | Schemas["MarginRatedBody"];
/** A row of mean returns. */
export type ReturnRow = Schemas["ReturnRowBody"];
export type BestOfMany = Schemas["BestOfManyBody"];
export type FreshStrength = Schemas["FreshStrengthBody"];
export type Circle = Schemas["CircleBody"];
export type CyclicShare = Schemas["CyclicShareBody"];

export type WinMatrixReport = Got<"/v1/win-matrix">;
export type Pair = Schemas["PairBody"];

export type LineageStep = Schemas["LineageStepBody"];

/** The margin of a match of two, seen by its first player. */
export type Margin = Schemas["MarginReport"];
export type Tally = Schemas["TallyReport"];
/**
 * The numbers of a match of two, seen by its first player. The `statistics` of a stored match and
 * the `report` of one that the service plays have these names in common.
 */
export type Duel = Omit<
  Schemas["MatchStatisticsBody"],
  "objective" | "interval" | "even_pairs" | "pair_counts" | "margin"
> & {
  interval: string;
  pair_counts: readonly number[] | null;
  /** Reports of earlier versions have none. */
  margin?: Margin | null;
};

/** Returns the game that a population plays, by its config; undefined until that is known. */
export function gameOf(
  body: { spec: { config?: { env?: { name: string } } | null } } | undefined,
): string | undefined {
  return body?.spec.config?.env?.name;
}
