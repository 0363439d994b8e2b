/**
 * `Curves` is the tab with training curves. A person chooses some; each is a chart of all members.
 */
import { useMemo } from "preact/hooks";
import { useGet } from "../../api/useGet";
import { decimal } from "../../format";
import { metricOf, withUnit } from "../../metrics";
import { query, setQuery } from "../../address";
import { Chart } from "../../ui/Chart";
import { Figure } from "../../ui/Figure";
import { type Line, pointsFor } from "../../ui/lines";
import { Empty, Failed, Loading, Shown } from "../../ui/state";
import type { Column } from "../../ui/table";
import { Value } from "../../ui/value";
import { curveLines, type CurvesBody, FIRST_METRICS } from "../curveLines";

interface Point {
  member: string;
  frames: number;
  value: number | null;
}

const POINT_COLUMNS: readonly Column<Point>[] = [
  { name: "member", value: (row) => row.member },
  { name: "frames", value: (row) => row.frames, numeric: true },
  {
    name: "value",
    value: (row) => row.value,
    show: (row) => <Value of={row.value} format={decimal} why="not finite" />,
    numeric: true,
  },
];

/** members: about how many there are; of many members each gets fewer points */
export function Curves({
  name,
  members,
  everyMs,
}: {
  name: string;
  members: number;
  everyMs: number;
}) {
  const asked = query.value.getAll("key");
  // Only the names of the metrics are asked for here. Each chart asks for its own curves, so one
  // more chart does not ask for all the others again.
  const found = useGet(
    "/v1/populations/{name}/metrics",
    { path: { name }, query: { keys: "" } },
    { everyMs, population: name },
  );
  return (
    <Shown query={found} what="curves">
      {({ keys }) => {
        if (keys.length === 0) {
          return (
            <Empty title="No curves yet">
              <p>Members write a point with every update.</p>
            </Empty>
          );
        }
        const chosen = asked.length ? asked : FIRST_METRICS.filter((key) => keys.includes(key));
        const flip = (key: string) =>
          setQuery({
            key: chosen.includes(key) ? chosen.filter((one) => one !== key) : [...chosen, key],
          });
        return (
          <>
            <div class="chips" role="group" aria-label="Curves">
              {keys.map((key) => (
                <button key={key} aria-pressed={chosen.includes(key)} onClick={() => flip(key)}>
                  {key}
                </button>
              ))}
            </div>
            <div class="figures">
              {chosen.map((key) => (
                <CurveOfMetric
                  key={key}
                  population={name}
                  name={key}
                  members={members}
                  everyMs={everyMs}
                />
              ))}
            </div>
          </>
        );
      }}
    </Shown>
  );
}

/** Asks for one metric of all members and draws it. */
function CurveOfMetric({
  population,
  name,
  members,
  everyMs,
}: {
  population: string;
  name: string;
  members: number;
  everyMs: number;
}) {
  const place = { path: { name: population }, query: { keys: name, points: pointsFor(members) } };
  const found = useGet("/v1/populations/{name}/metrics", place, {
    everyMs,
    population,
    keep: true,
  });
  // A later problem is shown once, above all charts.
  if (found.value) return <OneCurve name={name} curves={found.value} />;
  return found.problem ? (
    <Failed problem={found.problem} again={found.again} />
  ) : (
    <Loading what={name} />
  );
}

/** Draws one metric of all members. */
export function OneCurve({
  name,
  curves,
  title,
}: {
  name: string;
  curves: CurvesBody;
  title?: string;
}) {
  const lines = useMemo(() => curveLines(curves, name), [curves, name]);
  return (
    <Figure
      title={title ?? withUnit(name)}
      note={title === undefined && metricOf(name).says}
      columns={POINT_COLUMNS}
      rows={() => pointsOf(lines)}
    >
      <Chart label={title ?? name} lines={lines} alike={["highest", "lowest"]} height={180} />
    </Figure>
  );
}

function pointsOf(lines: readonly Line[]): Point[] {
  return lines.flatMap((line) =>
    line.x.map((frames, index) => ({ member: line.name, frames, value: line.y[index] ?? null })),
  );
}
