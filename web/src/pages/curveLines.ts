/** This file turns the training curves of a population into lines of a chart. */
import type { Got } from "../api/client";
import type { Line } from "../ui/lines";

export type CurvesBody = Got<"/v1/populations/{name}/metrics">;

/** The metrics that people want most, in this order. */
export const FIRST_METRICS: readonly string[] = [
  "win_rate",
  "margin",
  "return",
  "entropy",
  "frames_per_s",
  "lag_mean",
  "kl",
];

/**
 * Returns one line per member, in the order of their names.
 * prefix: of the names of the lines
 * eachS: with it x is time, in units of this many seconds
 */
export function curveLines(
  curves: CurvesBody,
  key: string,
  prefix = "",
  firstColour = 0,
  eachS = 0,
): Line[] {
  const members = Object.keys(curves.members).sort((a, b) =>
    a.localeCompare(b, undefined, { numeric: true }),
  );
  return members.flatMap((member, index) => {
    const curve = curves.members[member]![key];
    if (!curve) return [];
    const x = eachS ? (curve.seconds ?? []).map((seconds) => seconds / eachS) : curve.frames;
    return [{ name: prefix + member, colour: firstColour + index, x, y: curve.values }];
  });
}
