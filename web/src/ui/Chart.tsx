/** Lines over frames, drawn when they come into view. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { count, decimal } from "../format";
import { note, noted } from "../router";
import { dash, hue, token } from "./colours";
import { dark } from "./theme";

export interface Line {
  name: string;
  /** Which colour; the same one for the same member everywhere. */
  colour: number;
  x: readonly number[];
  y: readonly (number | null)[];
  /** An interval around y. */
  low?: readonly (number | null)[];
  high?: readonly (number | null)[];
  /** A value holds until the next one. */
  steps?: boolean;
  /** Points that are more than points of a line: copies. */
  marks?: readonly { x: number; y: number }[];
  points?: boolean;
}

interface Props {
  label: string;
  /** How the address calls it, where the label changes. */
  place?: string;
  lines: readonly Line[];
  format?: (value: number) => string;
  log?: boolean;
  height?: number;
  range?: [number, number];
  /** What x counts. */
  unit?: string;
  formatX?: (x: number) => string;
}

const POINTS_OF_A_CHART = 6400;
/** So many lines have no room for their names below every chart: the names fold. */
const MANY_LINES = 16;

/** How many points to ask for, for each of so many lines: fewer than pixels, and not so many together that a chart is slow. */
export function pointsFor(lines: number): number {
  return Math.max(60, Math.min(400, Math.floor(POINTS_OF_A_CHART / Math.max(1, lines))));
}

export function Chart({
  label,
  place = label,
  lines,
  format = decimal,
  log = false,
  height = 220,
  range,
  unit = "frames",
  formatX = count,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(
    () => new Set(noted("hide", `${place}/`)),
  );
  const [at, setAt] = useState<number | null>(null);
  const seen = useSeen(box);
  const shown = useMemo(() => lines.filter((line) => !hidden.has(line.name)), [lines, hidden]);
  const kept = useRef(shown);
  if (!same(kept.current, shown)) kept.current = shown;
  const drawn = useMemo(() => (seen ? join(kept.current) : [[]]), [kept.current, seen]);
  const zoom = useRef<Zoom | null | undefined>(undefined);
  if (zoom.current === undefined)
    zoom.current = zoomIn(noted("zoom", `${place}/${unit}/`)[0], unit);

  // Drawn with the change that asks for it: words and lines around and in a chart never disagree, not for a frame.
  useLayoutEffect(() => {
    if (!seen || !box.current) return;
    const element = box.current;
    const zoomed = (of: uPlot) => {
      // Told a moment later, when another view may already be shown, with an address of its own.
      if (plot.current !== of || !of.data[0]?.length) return;
      zoom.current = zoomOf(of, unit);
      note("zoom", `${place}/${unit}/`, zoom.current ? [toldAs(zoom.current)] : []);
    };
    const options = {
      label,
      lines: shown,
      format,
      formatX,
      log,
      height,
      ...(range && { range }),
      width: element.clientWidth,
      point: setAt,
      zoomed,
    };
    const made = new uPlot(optionsOf(options), drawn as uPlot.AlignedData, element);
    if (zoom.current?.unit === unit) made.setScale("x", zoom.current);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
    // New points of the same lines are given to the same chart below.
  }, [
    seen,
    dark.value,
    log,
    height,
    unit,
    JSON.stringify(shown.map((line) => [line.name, line.colour, !!line.low, !!line.marks])),
  ]);
  useLayoutEffect(() => {
    const made = plot.current;
    if (!made || made.data === drawn) return;
    const chosen = zoom.current?.unit === unit ? zoom.current : null;
    made.setData(drawn as uPlot.AlignedData, chosen === null);
    if (chosen) made.setScale("x", chosen);
  }, [drawn]);

  const flip = (name: string) => {
    const now = hidden.has(name) ? [...hidden].filter((one) => one !== name) : [...hidden, name];
    note("hide", `${place}/`, now);
    setHidden(new Set(now));
  };
  return (
    <>
      <div
        ref={box}
        class="chart"
        style={{ minHeight: `${height}px` }}
        role="img"
        aria-label={`${label}; the numbers stand below`}
      />
      <p class="under" aria-hidden="true">
        {at === null
          ? `${unit} →`
          : `at ${formatX(at)} ${unit}${lines.length === 1 ? `: ${valueAt(lines[0]!, at, format)}` : ""}`}
      </p>
      {lines.length > 1 && (
        <Legend
          lines={lines}
          hidden={hidden}
          flip={flip}
          told={(line) => (at === null ? "" : valueAt(line, at, format))}
        />
      )}
    </>
  );
}

interface LegendOf {
  lines: readonly Line[];
  hidden: ReadonlySet<string>;
  flip: (name: string) => void;
  told: (line: Line) => string;
}

/** Names of the lines, each a button that hides its line; beside them the values where the pointer is. */
function Legend({ lines, hidden, flip, told }: LegendOf) {
  const [open, setOpen] = useState(false);
  const names = (
    <ul class="legend">
      {lines.map((line) => (
        <li key={line.name}>
          <button aria-pressed={!hidden.has(line.name)} onClick={() => flip(line.name)}>
            <svg viewBox="0 0 24 8" aria-hidden="true">
              <line
                x1="0"
                x2="24"
                y1="4"
                y2="4"
                class={`stroke-${line.colour % 8}`}
                stroke-dasharray={dash(line.colour).join(" ")}
              />
            </svg>
            {line.name}
            <span class="number">{told(line)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
  if (lines.length <= MANY_LINES) return names;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{lines.length} lines</summary>
      {open && names}
    </details>
  );
}

/** Whether lines have the same points: to compare them is much cheaper than to draw them. */
export function same(before: readonly Line[], after: readonly Line[]): boolean {
  const numbers = (a: readonly unknown[] = [], b: readonly unknown[] = []) =>
    a === b || (a.length === b.length && a.every((one, index) => one === b[index]));
  const marks = (line: Line) => (line.marks ?? []).flatMap(({ x, y }) => [x, y]);
  return (
    before.length === after.length &&
    before.every((one, index) => {
      const other = after[index]!;
      const drawn =
        numbers(one.x, other.x) &&
        numbers(one.y, other.y) &&
        numbers(one.low, other.low) &&
        numbers(one.high, other.high);
      return one.name === other.name && drawn && numbers(marks(one), marks(other));
    })
  );
}

interface Zoom {
  min: number;
  max: number;
  unit: string;
}

/** The part of x that somebody chose by dragging; null where all of it is shown. */
export function zoomOf(
  { data, scales }: Pick<uPlot, "data" | "scales">,
  unit: string,
): Zoom | null {
  const [min, max] = [scales["x"]?.min, scales["x"]?.max];
  const x = data[0] ?? [];
  const [first, last] = [x[0], x.at(-1)];
  if (
    typeof min !== "number" ||
    typeof max !== "number" ||
    first === undefined ||
    last === undefined
  )
    return null;
  return min > first || max < last ? { min, max, unit } : null;
}

function toldAs({ min, max }: Zoom): string {
  return [min, max].map((x) => Number(x.toPrecision(6))).join("~");
}

/** From the address: least and greatest x. */
export function zoomIn(told: string | undefined, unit: string): Zoom | null {
  const [min, max] = (told ?? "").split("~").map(Number);
  return min !== undefined && max !== undefined && min < max ? { min, max, unit } : null;
}

/** The value at x, or of the newest point before it. */
export function valueAt(line: Line, x: number, format: (value: number) => string): string {
  let low = 0;
  let high = line.x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.x[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  const value = low > 0 ? line.y[low - 1] : null;
  return value === null || value === undefined ? "–" : format(value);
}

/** True once the element has come near the part of the page that is seen. */
function useSeen(box: { current: HTMLElement | null }): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watcher = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true),
      { rootMargin: "300px" },
    );
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return seen;
}

/** One table of all lines over all their x: for each line y, then its interval, then its marks. */
function join(lines: readonly Line[]): uPlot.AlignedData {
  const tables: uPlot.AlignedData[] = [];
  for (const line of lines) {
    const x = [...line.x];
    tables.push([x, [...line.y]]);
    if (line.low && line.high) tables.push([x, [...line.high]], [x, [...line.low]]);
    if (line.marks)
      tables.push([line.marks.map((mark) => mark.x), line.marks.map((mark) => mark.y)]);
  }
  return tables.length ? uPlot.join(tables) : [[]];
}

interface Drawing extends Props {
  width: number;
  point: (x: number | null) => void;
  /** Called when another part of x is shown. */
  zoomed: (plot: uPlot) => void;
}

function optionsOf({
  lines,
  format = decimal,
  formatX = count,
  log = false,
  height = 220,
  range,
  width,
  point,
  zoomed,
}: Drawing): uPlot.Options {
  const [ink, grid, page] = [token("ink-soft"), token("line"), token("page")];
  const axis = {
    stroke: ink,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1 },
    font: "12px system-ui, sans-serif",
  };
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const many = lines.length > MANY_LINES;
  for (const line of lines) {
    const stroke = hue(line.colour);
    const paths = line.steps ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {};
    series.push({
      stroke,
      width: many ? 1 : 2,
      dash: dash(line.colour),
      points: { show: line.points ?? false, size: 6, fill: stroke },
      ...paths,
    });
    if (line.low && line.high) {
      bands.push({
        series: [series.length, series.length + 1],
        fill: `color-mix(in srgb, ${stroke} 18%, transparent)`,
      });
      series.push({ points: { show: false } }, { points: { show: false } });
    }
    if (line.marks)
      series.push({
        paths: () => null,
        points: { show: true, size: 11, stroke, width: 2, fill: page },
      });
  }
  return {
    width,
    height,
    series,
    bands,
    legend: { show: false },
    scales: { x: { time: false }, y: { ...(log && { distr: 3 }), ...(range && { range }) } },
    axes: [
      {
        ...axis,
        size: 34,
        values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : formatX(tick))),
      },
      {
        ...axis,
        size: 64,
        values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : format(tick))),
      },
    ],
    cursor: { y: false, points: many ? { show: false } : { size: 7 }, drag: { x: true, y: false } },
    hooks: {
      setCursor: [
        (plot) =>
          point(
            plot.cursor.idx === null || plot.cursor.idx === undefined
              ? null
              : (plot.data[0]![plot.cursor.idx] ?? null),
          ),
      ],
      setScale: [(plot, scale) => scale === "x" && zoomed(plot)],
    },
  };
}
