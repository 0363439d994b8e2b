/**
 * This file draws single lines over a chart: the one that is pointed at, those that were chosen,
 * and the rings of copies. It also finds the line at the pointer.
 */
import uPlot from "uplot";
import { type Banded, BAR, bars, FILLED, outline, STROKED, type Turn } from "./bands";
import { dash, hue, token } from "./colours";
import type { Line } from "./lines";
import { between } from "./summary";

/** How near the pointer must be to a line, in pixels. */
const NEAR_PX = 24;
const LABEL_GAP_PX = 13;

/** Room at the right for the names of lines. */
export const LABEL_PX = 46;

/** How a line is drawn. */
export interface Look {
  width: number;
  /** By how many pixels it is drawn above its values. */
  offset: number;
  /** Which of the intervals side by side it has; null without one. */
  band: Turn | null;
  /** A rim in the colour of the page sets it apart from what lies behind. */
  rim: boolean;
}

/** Draws a line with its dashes, and with its interval and its rings where it has any. */
export function strokeLine(plot: uPlot, line: Line, look: Look): void {
  const pen = plot.ctx;
  const scale = uPlot.pxRatio;
  const path = pathOf(plot, line, -look.offset * scale);
  pen.save();
  clipped(plot);
  if (look.band) drawBand(plot, line, look.band);
  if (look.rim) {
    pen.strokeStyle = token("raised");
    pen.lineWidth = (look.width + 3) * scale;
    pen.stroke(path);
  }
  pen.strokeStyle = hue(line.colour);
  pen.lineWidth = look.width * scale;
  pen.setLineDash(dash(line.colour).map((length) => length * scale));
  pen.stroke(path);
  pen.setLineDash([]);
  if (line.points) drawDots(plot, line);
  drawRings(plot, line, look.offset);
  pen.restore();
}

/** A line whose band lies alone. */
export const ALONE: Turn = { index: 0, count: 1 };

/** Draws the intervals of lines. */
export function drawBands(plot: uPlot, turns: ReadonlyMap<Line, Turn>): void {
  plot.ctx.save();
  clipped(plot);
  for (const [line, turn] of turns) drawBand(plot, line, turn);
  plot.ctx.restore();
}

/** Draws lines so faintly that what stands before them is read. */
export function strokeFaintly(plot: uPlot, lines: readonly Line[]): void {
  const pen = plot.ctx;
  pen.save();
  clipped(plot);
  pen.strokeStyle = token("ink-soft");
  pen.globalAlpha = Math.max(0.08, Math.min(0.3, 6 / lines.length));
  pen.lineWidth = uPlot.pxRatio;
  for (const line of lines) pen.stroke(pathOf(plot, line, 0));
  pen.restore();
}

/** Draws a ring at each mark of a line: where its member copied another one. */
export function drawRings(plot: uPlot, line: Line, offset: number): void {
  const pen = plot.ctx;
  const scale = uPlot.pxRatio;
  pen.strokeStyle = hue(line.colour);
  pen.fillStyle = token("raised");
  pen.lineWidth = 2 * scale;
  for (const mark of line.marks ?? []) {
    pen.beginPath();
    const [x, y] = [plot.valToPos(mark.x, "x", true), plot.valToPos(mark.y, "y", true)];
    pen.arc(x, y - offset * scale, 4.5 * scale, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  }
}

/** Writes the names of lines beside their ends. */
export function labelEnds(plot: uPlot, lines: readonly Line[]): void {
  const pen = plot.ctx;
  const scale = uPlot.pxRatio;
  const { left, top, width, height } = plot.bbox;
  const ends = lines.flatMap((line) => {
    const last = line.y.findLastIndex((value) => value !== null);
    return last < 0 ? [] : [{ line, y: plot.valToPos(line.y[last]!, "y", true) }];
  });
  const places = apart(
    ends.map(({ y }) => Math.max(top, Math.min(top + height, y))),
    LABEL_GAP_PX * scale,
  );
  pen.save();
  pen.font = `600 ${11 * scale}px system-ui, sans-serif`;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  ends.forEach(({ line }, index) => {
    pen.fillStyle = hue(line.colour);
    pen.fillText(
      fitted(pen, line.name, (LABEL_PX - 6) * scale),
      left + width + 5 * scale,
      places[index]!,
    );
  });
  pen.restore();
}

function fitted(pen: CanvasRenderingContext2D, text: string, width: number): string {
  let cut = text;
  while (cut.length > 2 && pen.measureText(cut).width > width) cut = `${cut.slice(0, -2)}…`;
  return cut;
}

/** Returns places that are at least a gap apart, in the order of the given ones and near them. */
export function apart(places: readonly number[], gap: number): number[] {
  const order = places.map((_, index) => index).sort((a, b) => places[a]! - places[b]!);
  const found = [...places];
  order.forEach((index, rank) => {
    if (rank > 0) found[index] = Math.max(found[index]!, found[order[rank - 1]!]! + gap);
  });
  // What was pushed down is pushed up again, as far as the last one stood too low.
  for (let rank = order.length - 1; rank >= 0; rank -= 1) {
    const index = order[rank]!;
    const below = order[rank + 1];
    const most = below === undefined ? Math.max(...places) : found[below]! - gap;
    found[index] = Math.min(found[index]!, most);
  }
  return found;
}

/** Returns the line that is nearest to a place in the plot, in pixels; null where none is near. */
export function nearest(
  plot: uPlot,
  lines: readonly Line[],
  left: number,
  top: number,
): Line | null {
  const x = plot.posToVal(left, "x");
  let [found, least]: [Line | null, number] = [null, NEAR_PX];
  for (const line of lines) {
    const value = between(line, x);
    const far = value === null ? Infinity : Math.abs(plot.valToPos(value, "y") - top);
    if (far < least) [found, least] = [line, far];
  }
  return found;
}

/** Lets nothing be drawn outside the plot, but for dots at its edge. */
function clipped({ ctx, bbox }: uPlot): void {
  const edge = 5 * uPlot.pxRatio;
  ctx.beginPath();
  ctx.rect(bbox.left - edge, bbox.top - edge, bbox.width + 2 * edge, bbox.height + 2 * edge);
  ctx.clip();
}

/** Returns the path of a line in pixels of the canvas. */
function pathOf(plot: uPlot, line: Line, down: number): Path2D {
  const path = new Path2D();
  let before: number | null = null;
  line.x.forEach((at, index) => {
    const value = line.y[index] ?? null;
    if (value === null) {
      before = null;
      return;
    }
    const [x, y] = [plot.valToPos(at, "x", true), plot.valToPos(value, "y", true) + down];
    if (before === null) path.moveTo(x, y);
    else {
      if (line.steps) path.lineTo(x, before);
      path.lineTo(x, y);
    }
    before = y;
  });
  return path;
}

function drawBand(plot: uPlot, line: Line, turn: Turn): void {
  if (!line.low || !line.high) return;
  const place = {
    x: (value: number) => plot.valToPos(value, "x", true),
    y: (value: number) => plot.valToPos(value, "y", true),
  };
  const band = line as Line & Banded;
  const pen = plot.ctx;
  pen.save();
  if (turn.count === 1) {
    pen.globalAlpha = FILLED;
    pen.fillStyle = hue(line.colour);
    pen.fill(new Path2D(outline(band, place)));
  } else {
    pen.globalAlpha = STROKED;
    pen.strokeStyle = hue(line.colour);
    pen.lineWidth = BAR * uPlot.pxRatio;
    pen.stroke(new Path2D(bars(band, place, turn, uPlot.pxRatio)));
  }
  pen.restore();
}

function drawDots(plot: uPlot, { x, y, colour }: Line): void {
  const pen = plot.ctx;
  pen.fillStyle = hue(colour);
  x.forEach((at, index) => {
    if (y[index] === null || y[index] === undefined) return;
    pen.beginPath();
    const place = [plot.valToPos(at, "x", true), plot.valToPos(y[index], "y", true)] as const;
    pen.arc(...place, 3 * uPlot.pxRatio, 0, 2 * Math.PI);
    pen.fill();
  });
}
