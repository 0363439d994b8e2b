/** This file turns what the service answers into series to compare. All of it is pure. */
import type { Objective, RatingReport } from "../../api/reports";
import { decimal, percent } from "../../format";
import { metricOf, withUnit } from "../../metrics";
import { valued } from "../../pairs";
import { opponentName, type RateOpponent, type RateReport } from "../../rates";
import type { Clock, Series } from "../../series";
import { countedIn, strengthOf } from "../../strength";
import type { CurvesBody } from "../curveLines";
import { inOrder } from "../population/history";
import { overFrames, type Snapshots } from "../population/rated";

/** Metrics that are no training curves. */
export const STRENGTH = "strength";
export const AGAINST = "against";
export const RANDOM = "random";

/** The axes. */
export const OVER = ["frames", "time", "games"] as const;
export type Over = (typeof OVER)[number];

/** What the numbers of a chart are. Populations with different ones do not share an axis. */
export interface Measure {
  /** With its unit. */
  title: string;
  says: string;
  /** Of the values, in the table. */
  value: string;
  format: (value: number) => string;
  range?: [number, number];
}

export function curveMeasure(key: string): Measure {
  const { unit, says } = metricOf(key);
  return { title: withUnit(key), says, value: unit || "value", format: decimal };
}

const ZERO = "Zero is the player random, which all populations have in common.";

export function strengthMeasure(objective: Objective): Measure {
  const { name, format } = countedIn(objective);
  const says = {
    win: `Rating of each snapshot from evaluation games and matches. ${ZERO}`,
    margin: `Rating of each snapshot in margins a game. ${ZERO}`,
    return: "Mean return of the evaluation games of each snapshot.",
  }[objective];
  const title = {
    win: "Rating (Elo)",
    margin: "Rating (margin a game)",
    return: "Mean evaluation return",
  };
  return { title: title[objective], says, value: name, format };
}

export function againstMeasure({ objective }: RateReport, against: string): Measure {
  const says = "From evaluation games of the snapshots of a range of frames.";
  if (objective === "win")
    return {
      title: `Win rate against ${against}`,
      says: `Games won, draws as halves. ${says}`,
      value: "win rate",
      format: (share) => percent(share, 0),
      range: [0, 1.03],
    };
  const { name, format } = countedIn(objective);
  const title =
    objective === "margin" ? `Margin a game against ${against}` : `Return a game beside ${against}`;
  return { title, says, value: name, format };
}

/** Returns a series for each member, in the order of their names. */
export function curveSeries(population: string, curves: CurvesBody, key: string): Series[] {
  return inOrder(Object.keys(curves.members)).flatMap((member) => {
    const curve = curves.members[member]![key];
    return curve ? [{ population, member, x: curve.frames, y: curve.values }] : [];
  });
}

export function strengthSeries(
  population: string,
  report: RatingReport,
  snapshots: Snapshots,
): Series[] {
  const rated = overFrames(report, snapshots);
  return inOrder(new Set(rated.map((one) => one.member))).map((member) => {
    const own = rated.filter((one) => one.member === member);
    const found = own.map((one) => strengthOf(one.row, report.objective));
    return {
      population,
      member,
      x: own.map((one) => one.frames),
      y: found.map((one) => one.point),
      low: found.map((one) => one.low),
      high: found.map((one) => one.high),
    };
  });
}

export function rateSeries(population: string, { members }: RateReport): Series[] {
  return members.flatMap(({ member, blocks }) =>
    blocks.length === 0
      ? []
      : [
          {
            population,
            member,
            x: blocks.map((block) => block.frames),
            y: blocks.map((block) => block.value),
            low: blocks.map((block) => block.low),
            high: blocks.map((block) => block.high),
          },
        ],
  );
}

/** Returns for each member the seconds of training at its frames, breaks left out. */
export function timeClocks(curves: CurvesBody): Map<string, Clock> {
  return new Map(
    Object.entries(curves.members).flatMap(([member, own]) => {
      const [curve] = Object.values(own);
      return curve?.seconds ? [[member, { frames: curve.frames, at: curve.seconds }] as const] : [];
    }),
  );
}

/** Returns for each member how many games its population had played at its frames. */
export function gameClocks({ items }: Snapshots): Map<string, Clock> {
  const clocks = new Map<string, { frames: number[]; at: number[] }>();
  for (const { member, frames, games } of [...items].sort((a, b) => a.frames - b.frames)) {
    const clock = clocks.get(member) ?? { frames: [0], at: [0] };
    clocks.set(member, clock);
    if (frames <= clock.frames.at(-1)!) continue;
    clock.frames.push(frames);
    clock.at.push(games);
  }
  return clocks;
}

/** What the others are in these reports: "opponent", or "partner" where all count returns. */
export function otherIn(reports: readonly RateReport[]): string {
  const returns = reports.length > 0 && reports.every(({ objective }) => objective === "return");
  return valued(returns ? "return" : "win").other;
}

/** An opponent that win rates of several populations can be against, and what it is called. */
export interface Opponent {
  name: string;
  title: string;
}

/**
 * Returns the opponents that the populations have met. Members are left out where there are several
 * populations, since each has members of its own.
 */
export function opponentsOf(reports: readonly RateReport[]): Opponent[] {
  const found = new Map<string, string>([[RANDOM, RANDOM]]);
  const fits = ({ kind }: RateOpponent) => reports.length < 2 || kind !== "member";
  for (const { opponents, objective } of reports)
    for (const one of opponents.filter(fits))
      found.set(one.name, opponentName(one, objective === "return"));
  return [...found].map(([name, title]) => ({ name, title }));
}
