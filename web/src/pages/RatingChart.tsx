import type { Got } from "../api/client";
import type { Ratings } from "../api/reports";
import { elo, percent } from "../format";
import { Chart } from "../ui/Chart";
import { type Column, Figure } from "../ui/parts";
import { overFrames, type RatedSnapshot } from "./ratings";

const RATING: readonly Column<RatedSnapshot>[] = [
  { name: "member", value: (one) => one.member },
  { name: "frames", value: (one) => one.frames, numeric: true },
  { name: "Elo", value: (one) => one.row.elo, numeric: true },
  { name: "low", value: (one) => one.row.low, numeric: true },
  { name: "high", value: (one) => one.row.high, numeric: true },
  { name: "games", value: (one) => one.row.games, numeric: true },
];
const RANDOM: readonly Column<RatedSnapshot>[] = [
  { name: "member", value: (one) => one.member },
  { name: "frames", value: (one) => one.frames, numeric: true },
  { name: "score against random", value: (one) => one.row.score_vs_random, numeric: true },
];

/** Does it get better: ratings of snapshots over the frames they were trained for, and their score against the anchor. */
export function RatingChart({ report, snapshots }: { report: Ratings; snapshots: Got<"/v1/populations/{name}/snapshots"> }) {
  const rated = overFrames(report, snapshots);
  if (rated.length === 0) return null;
  const members = [...new Set(snapshots.items.map((one) => one.member))].sort();
  const linesOf = (value: (one: RatedSnapshot) => number | null, bands: boolean) =>
    members.map((member, colour) => {
      const mine = rated.filter((one) => one.member === member && value(one) !== null);
      const interval = bands ? { low: mine.map((one) => one.row.low), high: mine.map((one) => one.row.high) } : {};
      return { name: member, colour, x: mine.map((one) => one.frames), y: mine.map(value), points: true, ...interval };
    });
  return (
    <div class="figures">
      <Figure title="Rating over frames" note="Elo of each snapshot with its 95 % interval" columns={RATING} rows={rated}>
        <Chart label="Rating over frames" lines={linesOf((one) => one.row.elo, true)} format={elo} />
      </Figure>
      <Figure title="Score against random" note="of each snapshot that met the anchor" columns={RANDOM} rows={rated}>
        <Chart label="Score against random" lines={linesOf((one) => one.row.score_vs_random, false)} format={(share) => percent(share, 0)} range={[0, 1.03]} />
      </Figure>
    </div>
  );
}
