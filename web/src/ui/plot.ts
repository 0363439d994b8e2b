/**
 * This file turns lines into what uPlot draws: one table of numbers, and the look of each series.
 */
import uPlot from "uplot";
import { turnsOf } from "./bands";
import { dash, hue, token } from "./colours";
import {
  ALONE,
  drawBands,
  drawRings,
  LABEL_PX,
  labelEnds,
  type Look,
  nearest,
  strokeFaintly,
  strokeLine,
} from "./front";
import type { Line } from "./lines";
import { type Summary } from "./summary";

/** With more lines than this their names have no room below every chart: they fold. */
export const MANY_NAMES = 16;

/** By how much lines with equal values are drawn apart, in pixels. */
const TRACK_PX = 3;
/** With more lines than this, intervals hide each other: only those of lines in front are drawn. */
const MANY_INTERVALS = 4;

/** Returns one table of all lines over all their x: for each line y, then its interval. */
export function join(lines: readonly Line[]): uPlot.AlignedData {
  const tables: uPlot.AlignedData[] = [];
  for (const line of lines) {
    const x = [...line.x];
    tables.push([x, [...line.y]]);
    if (withInterval(line, lines)) tables.push([x, [...line.high!]], [x, [...line.low!]]);
  }
  return tables.length ? uPlot.join(tables) : [[]];
}

/** Returns the table of a summary: the median, its band, and the bounds of all lines. */
export function summed({ x, median, high, low, greatest, least }: Summary): uPlot.AlignedData {
  return x.length ? [x, median, high, low, greatest, least] : [[]];
}

function withInterval(line: Line, lines: readonly Line[]): boolean {
  return !!line.low && !!line.high && lines.length <= MANY_INTERVALS;
}

/** What stands before the other lines of a chart. It changes without a new chart. */
export interface Front {
  /** All lines that are shown. */
  lines: readonly Line[];
  /** For each of them by how many widths of a line it is drawn above its values. */
  offsets: readonly number[];
  /** Lines that are always in front: those that were chosen, the highest and the lowest. */
  named: readonly Line[];
  /** Names of those that a person chose. */
  chosen: ReadonlySet<string>;
  /** The line that is pointed at, or has the focus. */
  pointed: Line | null;
}

/** What a chart draws, and how. */
export interface Drawing {
  lines: readonly Line[];
  /** The lines are shown by their median and its band; those in front are drawn as they are. */
  together: boolean;
  front: () => Front;
  format: (value: number) => string;
  formatX: (x: number) => string;
  log: boolean;
  height: number;
  range?: [number, number];
  width: number;
  /** Called with the x where the pointer is and the line near it; null where it has left. */
  point: (x: number | null, line: Line | null) => void;
  /** Called when another part of x is shown. */
  zoomed: (plot: uPlot) => void;
}

/** Returns the look of all columns of the table that `join` makes. */
function seriesOf(lines: readonly Line[], front: () => Front): { series: uPlot.Series[] } {
  const series: uPlot.Series[] = [{}];
  const width = lines.length > MANY_NAMES ? 1 : 2;
  lines.forEach((line, index) => {
    const stroke = hue(line.colour);
    const points = { show: line.points ?? false, size: 6, fill: stroke };
    const offset = () => (front().offsets[index] ?? 0) * TRACK_PX;
    const paths = line.steps ? { paths: steps(offset) } : {};
    series.push({ stroke, width, dash: dash(line.colour), points, ...paths });
    // The ends of an interval belong to the range of the axis; `drawBands` draws them.
    if (withInterval(line, lines))
      series.push({ points: { show: false } }, { points: { show: false } });
  });
  return { series };
}

/** Returns the look of the table that `summed` makes. */
function summarySeries(): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const ink = token("ink");
  const unseen = { points: { show: false } };
  const fill = `color-mix(in srgb, ${ink} 20%, transparent)`;
  const series = [{}, { ...unseen, stroke: ink, width: 2 }, unseen, unseen, unseen, unseen];
  return { series, bands: [{ series: [2, 3], fill }] };
}

/** Draws steps, moved up by some pixels. */
function steps(offset: () => number): uPlot.Series.PathBuilder {
  const straight = uPlot.paths.stepped!({ align: 1 });
  return (plot, index, first, last) => {
    const made = straight(plot, index, first, last);
    const up = offset() * uPlot.pxRatio;
    if (!made || up === 0 || !(made.stroke instanceof Path2D)) return made;
    const stroke = new Path2D();
    stroke.addPath(made.stroke, new DOMMatrix([1, 0, 0, 1, 0, -up]));
    return { ...made, stroke };
  };
}

/** Draws what lies behind the lines: their bands, or of many lines each of them faintly. */
function drawBehind(plot: uPlot, together: boolean, { lines }: Front): void {
  if (together) strokeFaintly(plot, lines);
  else if (lines.length <= MANY_INTERVALS) drawBands(plot, turnsOf(lines));
}

/** Draws the lines in front, and all rings. */
function drawFront(plot: uPlot, together: boolean, front: Front): void {
  const { lines, offsets, named, chosen, pointed } = front;
  const turns = turnsOf(named.filter((line) => line === pointed || chosen.has(line.name)));
  const look = (line: Line): Look => ({
    width: line === pointed ? 3 : 2,
    offset: (offsets[lines.indexOf(line)] ?? 0) * TRACK_PX,
    band: line === pointed ? ALONE : (turns.get(line) ?? null),
    rim: true,
  });
  if (!together) lines.forEach((line) => drawRings(plot, line, look(line).offset));
  for (const line of named) if (line !== pointed) strokeLine(plot, line, look(line));
  if (pointed) strokeLine(plot, pointed, look(pointed));
  if (together) labelEnds(plot, [...new Set([...named, ...(pointed ? [pointed] : [])])]);
}

/** Returns the options of uPlot for a drawing. */
export function optionsOf(drawing: Drawing): uPlot.Options {
  const { lines, together, front, format, formatX, log, height, range, width } = drawing;
  const [ink, grid] = [token("ink-soft"), token("line")];
  const axis = {
    stroke: ink,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1 },
    font: "12px system-ui, sans-serif",
  };
  const ticksBy = (write: (value: number) => string) => (_: uPlot, ticks: (number | null)[]) =>
    ticks.map((tick) => (tick === null ? "" : write(tick)));
  const quiet = together || lines.length > MANY_NAMES;
  return {
    width,
    height,
    ...(together ? summarySeries() : seriesOf(lines, front)),
    ...(together && { padding: [null, LABEL_PX, null, null] }),
    legend: { show: false },
    scales: {
      x: { time: false },
      y: {
        ...(log && { distr: 3 }),
        range: range ?? ((_, least, most) => padded(least, most, log)),
      },
    },
    axes: [
      { ...axis, size: 34, values: ticksBy(formatX) },
      {
        ...axis,
        size: 64,
        ...(log && { filter: (_: uPlot, splits: number[]) => splits }),
        values: log ? (_, ticks) => ratioTicks(ticks, format) : ticksBy(format),
      },
    ],
    cursor: {
      y: false,
      points: quiet ? { show: false } : { size: 7 },
      drag: { x: true, y: false },
    },
    hooks: {
      drawAxes: [(plot) => drawBehind(plot, together, front())],
      draw: [(plot) => drawFront(plot, together, front())],
      setCursor: [(plot) => pointedAt(plot, drawing)],
      setScale: [(plot, scale) => scale === "x" && drawing.zoomed(plot)],
    },
  };
}

/** Beyond this ratio powers of ten alone stand at an axis. */
const FAR = 300;

/** Writes the ticks of an axis by ratios: 1, 2 and 5 times a power of ten; of a long axis 1. */
export function ratioTicks(
  ticks: readonly (number | null)[],
  format: (value: number) => string,
): string[] {
  const known = ticks.flatMap((tick) => tick ?? []);
  const far = Math.max(...known) > FAR * Math.min(...known);
  return ticks.map((tick) => (tick !== null && isRound(tick, far) ? format(tick) : ""));
}

function isRound(value: number, far: boolean): boolean {
  const first = value / 10 ** Math.floor(Math.log10(value) + 1e-9);
  return (far ? [1] : [1, 2, 5]).some((one) => Math.abs(first - one) < 1e-6);
}

/** With less around it the outermost line would touch the edge, or leave it where it is moved. */
const PADDING = 0.1;

/** Returns the range of an axis with some room at both ends. */
function padded(least: number | null, most: number | null, log: boolean): uPlot.Range.MinMax {
  if (least === null || most === null) return [null, null];
  if (least === most)
    return log ? [least / 2, most * 2] : uPlot.rangeNum(least, most, PADDING, true);
  if (!log) return [least - PADDING * (most - least), most + PADDING * (most - least)];
  const factor = (most / least) ** PADDING;
  return [least / factor, most * factor];
}

function pointedAt(plot: uPlot, { front, point }: Drawing): void {
  const { idx, left, top } = plot.cursor;
  const x = plot.data[0]![idx ?? -1] ?? null;
  const inside = x !== null && left !== undefined && top !== undefined && left >= 0;
  point(x, inside ? nearest(plot, front().lines, left, top) : null);
}
