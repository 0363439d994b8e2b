/** This file turns the training curves of a population into lines of a chart. */
import type { Got } from "../api/client";
import type { Line } from "../ui/lines";
import { inOrder } from "./population/history";

export type CurvesBody = Got<"/v1/populations/{name}/metrics">;

/** The metrics that people want most, in this order, of those that a population has. */
export const FIRST_METRICS: readonly string[] = [
  "win_rate",
  "margin",
  "return",
  "entropy",
  "td_error",
  "frames_per_s",
  "lag_mean",
  "kl",
];

/** Returns one line per member, in the order of their names. */
export function curveLines(curves: CurvesBody, key: string): Line[] {
  return inOrder(Object.keys(curves.members)).flatMap((name, colour) => {
    const curve = curves.members[name]![key];
    return curve ? [{ name, colour, x: curve.frames, y: curve.values }] : [];
  });
}
