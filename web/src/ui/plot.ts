/**
 * This file turns lines into what uPlot draws: one table of numbers, and the look of each series.
 */
import uPlot from "uplot";
import { dash, hue, token } from "./colours";
import type { Line } from "./lines";

/** With more lines than this their names have no room below every chart: they fold. */
export const MANY_LINES = 16;

/**
 * Returns one table of all lines over all their x: for each line y, then its interval, then its
 * marks.
 */
export function join(lines: readonly Line[]): uPlot.AlignedData {
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

/** What a chart draws, and how. */
export interface Drawing {
  lines: readonly Line[];
  format: (value: number) => string;
  formatX: (x: number) => string;
  log: boolean;
  height: number;
  range?: [number, number];
  width: number;
  /** Called with the x where the pointer is; null where it has left. */
  point: (x: number | null) => void;
  /** Called when another part of x is shown. */
  zoomed: (plot: uPlot) => void;
}

/** Returns the look of all columns of the table that `join` makes, and the bands of intervals. */
function seriesOf(lines: readonly Line[]): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const page = token("page");
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const width = lines.length > MANY_LINES ? 1 : 2;
  for (const line of lines) {
    const stroke = hue(line.colour);
    const points = { show: line.points ?? false, size: 6, fill: stroke };
    const paths = line.steps ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {};
    series.push({ stroke, width, dash: dash(line.colour), points, ...paths });
    if (line.low && line.high) {
      const fill = `color-mix(in srgb, ${stroke} 18%, transparent)`;
      bands.push({ series: [series.length, series.length + 1], fill });
      series.push({ points: { show: false } }, { points: { show: false } });
    }
    if (line.marks) {
      const ring = { show: true, size: 11, stroke, width: 2, fill: page };
      series.push({ paths: () => null, points: ring });
    }
  }
  return { series, bands };
}

/** Returns the options of uPlot for a drawing. */
export function optionsOf({
  lines,
  format,
  formatX,
  log,
  height,
  range,
  width,
  point,
  zoomed,
}: Drawing): uPlot.Options {
  const [ink, grid] = [token("ink-soft"), token("line")];
  const axis = {
    stroke: ink,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1 },
    font: "12px system-ui, sans-serif",
  };
  const ticksBy = (write: (value: number) => string) => (_: uPlot, ticks: (number | null)[]) =>
    ticks.map((tick) => (tick === null ? "" : write(tick)));
  const many = lines.length > MANY_LINES;
  return {
    width,
    height,
    ...seriesOf(lines),
    legend: { show: false },
    scales: { x: { time: false }, y: { ...(log && { distr: 3 }), ...(range && { range }) } },
    axes: [
      { ...axis, size: 34, values: ticksBy(formatX) },
      { ...axis, size: 64, values: ticksBy(format) },
    ],
    cursor: { y: false, points: many ? { show: false } : { size: 7 }, drag: { x: true, y: false } },
    hooks: {
      setCursor: [({ cursor: { idx }, data }) => point(data[0]![idx ?? -1] ?? null)],
      setScale: [(plot, scale) => scale === "x" && zoomed(plot)],
    },
  };
}
