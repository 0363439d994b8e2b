/**
 * `RatingChart` shows whether a population gets better: ratings of its snapshots over the frames
 * that they were trained for, and their score or margin against a player that does not change.
 */
import type { Objective, RatingReport, WinMatrixReport } from "../../api/reports";
import { margin, percent } from "../../format";
import { countedIn, headlineOf, type ReportRow, strengthOf } from "../../strength";
import { query, setQuery } from "../../address";
import { Chart } from "../../ui/Chart";
import { Figure } from "../../ui/Figure";
import { NarrowFold } from "../../ui/Fold";
import type { Line } from "../../ui/lines";
import { type Cell, cells } from "../../ui/Matrix";
import { MANY_LINES } from "../../ui/summary";
import type { Column } from "../../ui/table";
import { decidedColumns } from "../pairColumns";
import { strengthColumns } from "../Strength";
import { copiesOf, type History, inOrder } from "./history";
import { overFrames, type RatedSnapshot, ringsOn, type Snapshots } from "./rated";

interface Met extends RatedSnapshot {
  cell: Cell;
}

const BEST_AND_WORST = ["best", "worst"] as const;

/** Returns the columns of the numbers below the chart. */
function ratingColumns(objective: Objective): readonly Column<RatedSnapshot>[] {
  return [
    { name: "member", value: (one) => one.member },
    { name: "frames", value: (one) => one.frames, numeric: true },
    ...strengthColumns<RatedSnapshot>(objective, (one) => one.row),
    { name: "games", value: (one) => one.row.games, numeric: true },
  ];
}

function againstColumns(objective: Objective): readonly Column<Met>[] {
  return [
    { name: "member", value: (one) => one.member },
    { name: "frames", value: (one) => one.frames, numeric: true },
    ...decidedColumns<Met>(objective, (one) => one.cell),
    { name: "games", value: (one) => one.cell.games, numeric: true },
  ];
}

export function RatingChart({
  report,
  snapshots,
  matrix,
  history,
}: {
  report: RatingReport;
  snapshots: Snapshots;
  matrix: WinMatrixReport | undefined;
  history: History | undefined;
}) {
  const rated = overFrames(report, snapshots);
  if (rated.length === 0) return null;
  const { name, title, format } = countedIn(report.objective);
  const rating = linesOf(rated, (one) => {
    const { point, low, high } = strengthOf(one.row, report.objective);
    return [point, low, high];
  });
  const copies = history ? copiesOf(history) : [];
  const ringed = rating.map((line) => ({ ...line, marks: ringsOn(line, copies) }));
  const interval =
    rating.length > MANY_LINES
      ? "and, of lines that you point at or choose, its 95 % interval"
      : "with its 95 % interval";
  return (
    <div class="figures">
      <Figure
        title={title}
        note={`${name} of each snapshot ${interval}${
          copies.length ? "; a ring: the member copied another one" : ""
        }`}
        columns={ratingColumns(report.objective)}
        rows={rated}
      >
        <Chart label={title} lines={ringed} alike={BEST_AND_WORST} format={format} />
      </Figure>
      {matrix && matrix.objective !== "return" && (
        <AgainstAnchor rated={rated} anchors={anchorsOf(report, snapshots)} matrix={matrix} />
      )}
    </div>
  );
}

/**
 * Returns the players that do not learn: scripted ones, guests, and snapshots marked as anchors.
 */
export function anchorsOf(report: RatingReport, snapshots: Snapshots): string[] {
  const marked = new Set(snapshots.items.filter((one) => one.is_anchor).map((one) => one.id));
  return report.players
    .filter((row: ReportRow) => row.kind !== "snapshot" || marked.has(row.id))
    .map((row: ReportRow) => row.player);
}

function AgainstAnchor({
  rated,
  anchors,
  matrix,
}: {
  rated: readonly RatedSnapshot[];
  anchors: readonly string[];
  matrix: WinMatrixReport;
}) {
  const asked = query.value.get("against");
  const anchor = asked ?? (anchors.includes("random") ? "random" : anchors[0]);
  if (anchor === undefined) return null;
  const known = cells(matrix.pairs);
  const met = rated.flatMap((one): Met[] => {
    const cell = known.get(`${one.row.player} ${anchor}`);
    return cell ? [{ ...one, cell }] : [];
  });
  const margins = matrix.objective === "margin";
  const choice = (
    <label class="inline">
      of each snapshot that met{" "}
      <select value={anchor} onChange={(event) => setQuery({ against: event.currentTarget.value })}>
        {[...new Set([...anchors, anchor])].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      {!margins && "; a draw counts half"}
    </label>
  );
  const title = `${margins ? "Margin a game" : "Win rate"} against ${anchor}`;
  const figure = () => (
    <Figure title={title} note={choice} columns={againstColumns(matrix.objective)} rows={met}>
      <Chart
        label={title}
        alike={BEST_AND_WORST}
        lines={linesOf(met, ({ cell }) => {
          const { value, low, high } = headlineOf(cell);
          return [value, low, high];
        })}
        format={margins ? margin : (share) => percent(share, 0)}
        {...(margins ? {} : { range: [0, 1.03] as const })}
      />
    </Figure>
  );
  return (
    <NarrowFold title={title} heading={false}>
      {figure}
    </NarrowFold>
  );
}

/**
 * Returns one line per member, in the order of their names, so that colours stay.
 * value: returns a value and the ends of its interval
 */
function linesOf<One extends RatedSnapshot>(
  rated: readonly One[],
  value: (one: One) => readonly [number | null, number | null, number | null],
): Line[] {
  const members = inOrder(new Set(rated.map((one) => one.member)));
  return members.map((member, colour) => {
    const mine = rated.filter((one) => one.member === member && value(one)[0] !== null);
    const [y, low, high] = ([0, 1, 2] as const).map((part) => mine.map((one) => value(one)[part]));
    return {
      name: member,
      colour,
      x: mine.map((one) => one.frames),
      y: y!,
      low: low!,
      high: high!,
      points: true,
    };
  });
}
