/** `Compare` is the page that draws one metric of several populations over frames or over time. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { SELDOM_MS, useGet } from "../api/useGet";
import { count, decimal, span } from "../format";
import { query, setQuery, to } from "../address";
import { Chart } from "../ui/Chart";
import { Figure } from "../ui/Figure";
import { type Line, pointsFor } from "../ui/lines";
import { Empty, Failed, Loading, Shown } from "../ui/state";
import type { Column } from "../ui/table";
import { Value } from "../ui/value";
import { curveLines, type CurvesBody, FIRST_METRICS } from "./curveLines";

export function Compare() {
  const populations = useGet("/v1/populations", { query: { limit: 500 } });
  return (
    <>
      <h1>Compare</h1>
      <Shown query={populations} what="populations">
        {(list) => {
          const names = list.items.map((one) => one.id);
          if (names.length === 0) {
            return (
              <Empty title="Nothing to compare yet">
                <p>
                  <a href={to(["populations"])}>Populations</a> come first.
                </p>
              </Empty>
            );
          }
          const asked = query.value.getAll("population");
          const chosen = asked.length ? asked : names.slice(0, 2);
          const flip = (name: string) =>
            setQuery({
              population: chosen.includes(name)
                ? chosen.filter((one) => one !== name)
                : [...chosen, name],
            });
          return (
            <>
              <div class="chips" role="group" aria-label="Populations">
                {[...new Set([...names, ...chosen])].map((name) => (
                  <button
                    key={name}
                    aria-pressed={chosen.includes(name)}
                    onClick={() => flip(name)}
                  >
                    {name}
                  </button>
                ))}
              </div>
              {list.next && (
                <p class="note">
                  The first {list.items.length} populations; others by the address.
                </p>
              )}
              <Overlay
                names={chosen}
                sizes={new Map(list.items.map((one) => [one.id, one.status.members.length]))}
              />
            </>
          );
        }}
      </Shown>
    </>
  );
}

/** Returns the metric to begin with: of those that are there, the one that people want most. */
export function firstOf(there: ReadonlySet<string>): string {
  return FIRST_METRICS.find((key) => there.has(key)) ?? [...there].sort()[0] ?? FIRST_METRICS[0]!;
}

/** The answer for one population. Curves of null could not be had, and the reason is shown. */
interface Answer {
  metric: string;
  curves: CurvesBody | null;
}

/** All curves that are drawn at a time, by population. */
interface DrawnCurves {
  metric: string;
  curves: readonly (readonly [string, CurvesBody])[];
}

/** sizes: how many members each population has; of many members each gets fewer points */
function Overlay({
  names,
  sizes,
}: {
  names: readonly string[];
  sizes: ReadonlyMap<string, number>;
}) {
  const [found, setFound] = useState<ReadonlyMap<string, Answer>>(new Map());
  const overTime = query.value.get("x") === "time";
  const there = new Set(names.flatMap((name) => found.get(name)?.curves?.keys ?? []));
  const metric = query.value.get("metric") ?? firstOf(there);
  const keys = [...new Set([...there, metric])].sort();
  const drawn = useDrawnCurves(names, metric, found);
  const { lines, unit } = useMemo(() => linesOf(drawn, overTime), [drawn, overTime]);
  const points = pointsFor(names.reduce((sum, name) => sum + (sizes.get(name) ?? 1), 0));
  return (
    <>
      {names.map((name) => (
        <CurvesOfOne
          key={name}
          name={name}
          metric={metric}
          points={points}
          quiet={drawn.curves.length > 0}
          got={(curves) => setFound((old) => new Map([...old, [name, { metric, curves }]]))}
        />
      ))}
      <div class="choices">
        <label>
          Metric
          <select
            value={metric}
            onChange={(event) => setQuery({ metric: event.currentTarget.value })}
          >
            {keys.map((key) => (
              <option key={key}>{key}</option>
            ))}
          </select>
        </label>
        <label>
          Over
          <select
            value={overTime ? "time" : "frames"}
            onChange={(event) => setQuery({ x: event.currentTarget.value === "time" && "time" })}
          >
            <option value="frames">frames</option>
            <option value="time">time of training</option>
          </select>
        </label>
      </div>
      {lines.length ? (
        <Figure
          title={`${drawn.metric} over ${overTime ? "time" : "frames"}`}
          columns={columnsOf(unit)}
          rows={() => rowsOf(lines)}
        >
          <Chart
            label={`${drawn.metric} over ${unit}`}
            place="curves"
            lines={lines}
            height={360}
            unit={unit}
            formatX={overTime ? decimal : count}
          />
        </Figure>
      ) : (
        drawn.curves.length > 0 && (
          <Empty title={`No population has ${drawn.metric}`}>
            <p>Choose another metric, or a population that has trained.</p>
          </Empty>
        )
      )}
    </>
  );
}

/**
 * Returns the curves of a metric once all populations have answered; until then those that were
 * drawn before.
 */
function useDrawnCurves(
  names: readonly string[],
  metric: string,
  found: ReadonlyMap<string, Answer>,
): DrawnCurves {
  const kept = useRef<DrawnCurves>({ metric, curves: [] });
  return useMemo(() => {
    const answers = names.flatMap((name) =>
      found.get(name)?.metric === metric ? [[name, found.get(name)!.curves] as const] : [],
    );
    const curves = answers.flatMap(([name, curves]) => (curves ? [[name, curves] as const] : []));
    if (answers.length === names.length) kept.current = { metric, curves };
    return kept.current;
  }, [names.join(), metric, found]);
}

/**
 * Returns the lines of all members of all populations. Time has the unit that fits the longest
 * training; breaks are left out.
 */
function linesOf(
  { metric, curves: shown }: DrawnCurves,
  overTime: boolean,
): { lines: Line[]; unit: string } {
  const ends = shown.flatMap(([, curves]) =>
    Object.values(curves.members).map((curve) => curve[metric]?.seconds?.at(-1) ?? 0),
  );
  const { unit, seconds } = span(Math.max(0, ...ends));
  const lines: Line[] = [];
  for (const [name, curves] of shown)
    lines.push(...curveLines(curves, metric, `${name}/`, lines.length, overTime ? seconds : 0));
  return { lines, unit: overTime ? `${unit} of training` : "frames" };
}

interface Row {
  member: string;
  x: number;
  value: number | null;
}

function columnsOf(unit: string): readonly Column<Row>[] {
  return [
    { name: "member", value: (row) => row.member },
    { name: unit, value: (row) => row.x, show: (row) => decimal(row.x), numeric: true },
    {
      name: "value",
      value: (row) => row.value,
      show: (row) => <Value of={row.value} format={decimal} why="not finite" />,
      numeric: true,
    },
  ];
}

function rowsOf(lines: readonly Line[]): Row[] {
  return lines.flatMap((line) =>
    line.x.map((x, index) => ({ member: line.name, x, value: line.y[index] ?? null })),
  );
}

interface CurvesOfOneProps {
  name: string;
  metric: string;
  points: number;
  /** Something is drawn already, so that it need not say that it waits. */
  quiet: boolean;
  got: (curves: CurvesBody | null) => void;
}

/**
 * Asks for the curves of one population and hands them to the chart. It shows only what went wrong.
 */
function CurvesOfOne({ name, metric, points, quiet, got }: CurvesOfOneProps) {
  const place = { path: { name }, query: { keys: metric, points, times: true } };
  const found = useGet("/v1/populations/{name}/metrics", place, {
    everyMs: SELDOM_MS,
    population: name,
  });
  const failed =
    found.problem !== null && (found.problem.status !== 0 || found.value === undefined);
  useEffect(() => {
    if (failed || found.value) got(failed ? null : found.value!);
  }, [found.value, failed]);
  if (failed) return <Failed problem={found.problem!} again={found.again} />;
  return found.value || quiet ? null : <Loading what={`curves of ${name}`} />;
}
