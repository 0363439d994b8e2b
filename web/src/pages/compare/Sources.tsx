/**
 * `Source` asks for the series of one population and hands them to the chart. It shows only what
 * went wrong.
 */
import { useEffect, useMemo } from "preact/hooks";
import type { ServiceProblem } from "../../api/client";
import type { Objective } from "../../api/reports";
import { MOST_SNAPSHOTS, type Query, SELDOM_MS, useGet } from "../../api/useGet";
import type { RateReport } from "../../rates";
import { overClock, type Series } from "../../series";
import { Failed, Loading } from "../../ui/state";
import {
  AGAINST,
  againstMeasure,
  curveMeasure,
  curveSeries,
  gameClocks,
  type Measure,
  type Over,
  rateSeries,
  STRENGTH,
  strengthMeasure,
  strengthSeries,
  timeClocks,
} from "./measures";

/** What a chart asks of each population. */
export interface Asked {
  metric: string;
  over: Over;
  /** The opponent of win rates. */
  against: string;
  /** Of each curve. */
  points: number;
}

/** The answer of one population. */
export interface Found {
  series: readonly Series[];
  measure: Measure;
  /** The names of its curves. */
  keys: readonly string[];
  /** Its win rates, where they were asked for. */
  rates?: RateReport;
}

interface SourceProps {
  name: string;
  asked: Asked;
  /** Something is drawn already, so that it need not say that it waits. */
  quiet: boolean;
  /** Called with null where the population has no answer. */
  got: (found: Found | null) => void;
}

/**
 * Every update of every algorithm writes this curve, the first one, too (`UpdateStats`), so its
 * points tell the time. What an algorithm itself tells, others do not have.
 */
const TIMED = "version";

export function Source(props: SourceProps) {
  const { metric } = props.asked;
  if (metric === STRENGTH) return <OfStrength {...props} />;
  return metric === AGAINST ? <OfRates {...props} /> : <OfCurves {...props} />;
}

function OfCurves(props: SourceProps) {
  const { name, asked } = props;
  const { metric, over, points } = asked;
  // Another algorithm tells of other things: only a curve that is there is asked for.
  const names = useCurves(name, { keys: "" });
  const there = names.value?.keys.includes(metric);
  const query = { keys: metric, points, times: over === "time" };
  const curves = useCurves(there ? name : null, query);
  const snapshots = useSnapshots(over === "games" ? name : null);
  const found = useMemo(() => {
    if (names.value && !there)
      return { series: [], measure: curveMeasure(metric), keys: names.value.keys };
    if (!curves.value || (over === "games" && !snapshots.value)) return undefined;
    const series = curveSeries(name, curves.value, metric);
    const clocks =
      over === "time"
        ? timeClocks(curves.value)
        : over === "games"
          ? gameClocks(snapshots.value!)
          : null;
    const { keys } = curves.value;
    return { series: onAxis(series, clocks), measure: curveMeasure(metric), keys };
  }, [names.value, curves.value, snapshots.value]);
  return <Told {...props} found={found} queries={[names, curves, snapshots]} />;
}

function OfStrength(props: SourceProps) {
  const { name } = props;
  const ratings = useGet(
    "/v1/ratings",
    { query: { population: name } },
    { everyMs: SELDOM_MS, population: name },
  );
  const snapshots = useSnapshots(name);
  const curves = useTimes(name, props.asked);
  const found = useMemo(() => {
    if (!ratings.value || !snapshots.value || !curves.value) return undefined;
    return placed(
      props.asked,
      strengthSeries(name, ratings.value, snapshots.value),
      strengthMeasure(ratings.value.objective as Objective),
      curves.value,
      snapshots.value,
    );
  }, [ratings.value, snapshots.value, curves.value]);
  return <Told {...props} found={found} queries={[ratings, snapshots, curves]} />;
}

function OfRates(props: SourceProps) {
  const { name, asked } = props;
  const rates = useGet(
    "/v1/populations/{name}/win-rates",
    { path: { name }, query: { against: asked.against } },
    { everyMs: SELDOM_MS, population: name },
  );
  const snapshots = useSnapshots(asked.over === "games" ? name : null);
  const curves = useTimes(name, asked);
  const found = useMemo(() => {
    if (!rates.value || !curves.value || (asked.over === "games" && !snapshots.value))
      return undefined;
    const series = rateSeries(name, rates.value);
    const measure = againstMeasure(rates.value, asked.against);
    return {
      ...placed(asked, series, measure, curves.value, snapshots.value),
      rates: rates.value,
    };
  }, [rates.value, snapshots.value, curves.value]);
  return <Told {...props} found={found} queries={[rates, snapshots, curves]} />;
}

type Curves = Parameters<typeof timeClocks>[0];
type Snapshots = Parameters<typeof gameClocks>[0];

function placed(
  { over }: Asked,
  series: readonly Series[],
  measure: Measure,
  curves: Curves,
  snapshots: Snapshots | undefined,
): Found {
  const clocks =
    over === "time"
      ? timeClocks(curves)
      : over === "games" && snapshots
        ? gameClocks(snapshots)
        : null;
  return { series: onAxis(series, clocks), measure, keys: curves.keys };
}

/** Returns series over the axis of the clocks of their members; null is that of frames. */
function onAxis(
  series: readonly Series[],
  clocks: ReturnType<typeof timeClocks> | null,
): readonly Series[] {
  if (!clocks) return series;
  return series.flatMap((one) => {
    const clock = clocks.get(one.member);
    return clock ? [overClock(one, clock)] : [];
  });
}

/** Asks for the times of points where the axis is time, and for the names of all curves. */
function useTimes(name: string, { over, points }: Asked) {
  const timed = over === "time";
  return useCurves(name, { keys: timed ? TIMED : "", points, times: timed });
}

/** name: null asks for nothing */
function useCurves(name: string | null, query: { keys: string; points?: number; times?: boolean }) {
  return useGet(
    name === null ? null : "/v1/populations/{name}/metrics",
    { path: { name: name ?? "" }, query },
    { everyMs: SELDOM_MS, population: name ?? "" },
  );
}

/** name: null asks for nothing */
function useSnapshots(name: string | null) {
  return useGet(
    name === null ? null : "/v1/populations/{name}/snapshots",
    { path: { name: name ?? "" }, query: { limit: MOST_SNAPSHOTS } },
    { everyMs: SELDOM_MS, population: name ?? "" },
  );
}

function Told({
  name,
  quiet,
  got,
  found,
  queries,
}: SourceProps & { found: Found | undefined; queries: readonly Query<unknown>[] }) {
  const bad = queries.find(
    ({ problem, value }) => problem && (problem.status || value === undefined),
  );
  const problem: ServiceProblem | null = bad?.problem ?? null;
  useEffect(() => {
    if (problem || found) got(problem ? null : found!);
  }, [found, problem]);
  if (problem) return <Failed problem={problem} again={bad!.again} />;
  return found || quiet ? null : <Loading what={`numbers of ${name}`} />;
}
