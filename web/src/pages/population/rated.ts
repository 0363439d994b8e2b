/** This file joins ratings with the snapshots that they are of. All of it is pure. */
import type { Got } from "../../api/client";
import type { RatingReport } from "../../api/reports";
import type { ReportRow } from "../../strength";
import type { Line } from "../../ui/lines";
import { type Copy, inOrder } from "./history";

export type Snapshots = Got<"/v1/populations/{name}/snapshots">;

export interface RatedSnapshot {
  member: string;
  role: string | null;
  frames: number;
  row: ReportRow;
}

/** Returns the ratings with the members and frames of their snapshots, oldest first. */
export function overFrames(report: RatingReport, snapshots: Snapshots): RatedSnapshot[] {
  const known = new Map(snapshots.items.map((one) => [one.id, one]));
  const found = report.players.flatMap((row: ReportRow) => {
    const snapshot = known.get(row.id);
    const { member, frames } = snapshot ?? {};
    return member !== undefined && frames !== undefined
      ? [{ member, role: row.role, frames, row }]
      : [];
  });
  return found.sort((a, b) => a.frames - b.frames);
}

/** Returns the newest rated snapshot of each member, in the order of their names. */
export function newestRated(report: RatingReport, snapshots: Snapshots): RatedSnapshot[] {
  const newest = new Map(overFrames(report, snapshots).map((one) => [one.member, one]));
  return inOrder(newest.keys()).map((member) => newest.get(member)!);
}

/**
 * Returns where the copies of a line's member lie on it: between the points around them. Copies
 * before its first point and after its last one have no place.
 */
export function ringsOn(line: Line, copies: readonly Copy[]): { x: number; y: number }[] {
  const { x, y } = line;
  return copies.flatMap((copy) => {
    const after = x.findIndex((frames) => frames >= copy.frames);
    const [left, right] = [Math.max(0, after - 1), after];
    const [low, high] = [y[left], y[right]];
    if (copy.to !== line.name || after < 0 || low == null || high == null) return [];
    if (after === 0 && x[0] !== copy.frames) return [];
    const part = x[right] === x[left] ? 0 : (copy.frames - x[left]!) / (x[right]! - x[left]!);
    return [{ x: copy.frames, y: low + part * (high - low) }];
  });
}
