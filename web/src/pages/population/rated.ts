/** This file joins ratings with the snapshots that they are of. All of it is pure. */
import type { Got } from "../../api/client";
import type { RatingReport } from "../../api/reports";
import type { ReportRow } from "../../strength";
import { inOrder } from "./history";

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
