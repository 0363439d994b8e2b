/**
 * This file makes a picture of a chart that can be saved: a list of shapes, which is written as SVG
 * or painted on a canvas. Making and writing it is pure.
 */
import { bandShape, type Placing, turnsOf } from "./bands";
import { HUES } from "./colours";
import type { Line } from "./lines";
import type { Summary } from "./summary";

export type Shape =
  | {
      kind: "path";
      /** As the attribute `d` of SVG. */
      d: string;
      stroke?: string;
      width?: number;
      dash?: readonly number[];
      fill?: string;
      opacity?: number;
      /** Only within the plot. */
      clipped?: boolean;
    }
  | {
      kind: "text";
      x: number;
      y: number;
      text: string;
      fill: string;
      size: number;
      anchor: "start" | "middle" | "end";
    };

export interface Picture {
  width: number;
  height: number;
  page: string;
  /** The plot: left, top, width, height. */
  plot: readonly [number, number, number, number];
  shapes: Shape[];
}

/** Colours of the page that the chart stands on. */
export interface Palette {
  page: string;
  ink: string;
  soft: string;
  grid: string;
  series: readonly string[];
}

/** What a chart shows now. */
export interface Shown {
  title: string;
  lines: readonly Line[];
  /** Of many lines, what stands for all of them. */
  summary: Summary | null;
  /** The lines that are named: all, or of many those in front. */
  named: readonly Line[];
  x: readonly [number, number];
  y: readonly [number, number];
  log: boolean;
  unit: string;
  format: (value: number) => string;
  formatX: (x: number) => string;
  dash: (colour: number) => readonly number[];
}

const WIDTH = 960;
const [LEFT, RIGHT, TOP, BELOW, PLOT] = [72, 20, 44, 44, 400];
const [ROW, LETTER, SWATCH] = [20, 7, 34];
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/** Returns steps of 1, 2 or 5 times a power of ten between two numbers, about as many as asked. */
export function ticks(low: number, high: number, about: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((one) => one * power >= rough) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** Returns 1, 2 and 5 times powers of ten between two positive numbers. */
export function logTicks(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
    for (const one of [1, 2, 5]) {
      const tick = Number((one * 10 ** power).toPrecision(12));
      if (tick >= low && tick <= high) found.push(tick);
    }
  return found;
}

/** Returns the picture of what a chart shows. */
export function pictureOf(shown: Shown, palette: Palette): Picture {
  const legend = legendOf(shown, palette);
  const plot = [LEFT, TOP, WIDTH - LEFT - RIGHT, PLOT] as const;
  const place = placing(shown, plot);
  return {
    width: WIDTH,
    height: TOP + PLOT + BELOW + legend.height,
    page: palette.page,
    plot,
    shapes: [
      text(LEFT, 26, shown.title, palette.ink, 16),
      ...axes(shown, palette, plot, place),
      ...curves(shown, palette, place),
      ...legend.shapes,
    ],
  };
}

function placing({ x, y, log }: Shown, [left, top, width, height]: Picture["plot"]): Placing {
  const scale = log ? Math.log10 : (value: number) => value;
  const share = (value: number, [low, high]: readonly [number, number]) =>
    high > low ? (value - low) / (high - low) : 0.5;
  const ends = [scale(y[0]), scale(y[1])] as const;
  return {
    x: (value) => left + width * share(value, x),
    y: (value) => top + height * (1 - share(scale(value), ends)),
  };
}

function text(
  x: number,
  y: number,
  words: string,
  fill: string,
  size: number,
  anchor: "start" | "middle" | "end" = "start",
): Shape {
  return { kind: "text", x, y, text: words, fill, size, anchor };
}

function axes(
  { x, y, log, format, formatX, unit }: Shown,
  { soft, grid }: Palette,
  [left, top, width, height]: Picture["plot"],
  place: Placing,
): Shape[] {
  const shapes: Shape[] = [];
  for (const tick of log ? logTicks(...y) : ticks(...y, 6)) {
    const at = place.y(tick);
    shapes.push({ kind: "path", d: `M${left} ${round(at)}h${width}`, stroke: grid, width: 1 });
    shapes.push(text(left - 8, at + 4, format(tick), soft, 12, "end"));
  }
  for (const tick of ticks(...x, 8)) {
    const at = place.x(tick);
    shapes.push({ kind: "path", d: `M${round(at)} ${top}v${height}`, stroke: grid, width: 1 });
    shapes.push(text(at, top + height + 18, formatX(tick), soft, 12, "middle"));
  }
  shapes.push(text(left + width, top + height + 36, `${unit} →`, soft, 12, "end"));
  return shapes;
}

function curves(shown: Shown, { ink, soft, series }: Palette, place: Placing): Shape[] {
  const { lines, summary, named } = shown;
  const shapes: Shape[] = [];
  const line = (one: Pick<Line, "x" | "y" | "steps">, look: Partial<Shape>): Shape =>
    ({ kind: "path", d: pathOf(one, place), width: 2, clipped: true, ...look }) as Shape;
  if (summary) {
    const opacity = Math.max(0.08, Math.min(0.3, 6 / lines.length));
    for (const one of lines) shapes.push(line(one, { stroke: soft, width: 1, opacity }));
    shapes.push(bandShape(summary, ink, place, { index: 0, count: 1 }));
    shapes.push(line({ x: summary.x, y: summary.median }, { stroke: ink }));
  }
  const turns = turnsOf(summary || named.length <= 4 ? named : []);
  for (const one of named) {
    const colour = series[one.colour % HUES]!;
    const { x, low, high } = one;
    const turn = turns.get(one);
    if (low && high && turn) shapes.push(bandShape({ x, low, high }, colour, place, turn));
    shapes.push(line(one, { stroke: colour, dash: shown.dash(one.colour) }));
    for (const mark of one.marks ?? []) shapes.push(ring(place.x(mark.x), place.y(mark.y), colour));
    if (one.points)
      one.x.forEach((at, index) => {
        const value = one.y[index];
        if (value !== null && value !== undefined)
          shapes.push({ ...dot(place.x(at), place.y(value)), fill: colour });
      });
  }
  return shapes;
}

function dot(x: number, y: number): Shape & { kind: "path" } {
  const [left, at] = [round(x - 2.5), round(y)];
  return { kind: "path", d: `M${left} ${at}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z`, clipped: true };
}

function ring(x: number, y: number, stroke: string): Shape {
  const [left, at] = [round(x - 4.5), round(y)];
  const d = `M${left} ${at}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z`;
  return { kind: "path", d, stroke, width: 2, clipped: true };
}

function pathOf({ x, y, steps }: Pick<Line, "x" | "y" | "steps">, place: Placing): string {
  let [d, before]: [string, number | null] = ["", null];
  x.forEach((at, index) => {
    const value = y[index] ?? null;
    if (value === null) {
      before = null;
      return;
    }
    const [right, down] = [round(place.x(at)), round(place.y(value))];
    if (before === null) d += `M${right} ${down}`;
    else d += steps ? `H${right}V${down}` : `L${right} ${down}`;
    before = down;
  });
  return d;
}

function legendOf(
  { lines, named, summary, dash }: Shown,
  { ink, series }: Palette,
): { shapes: Shape[]; height: number } {
  const shapes: Shape[] = [];
  let [x, row] = [LEFT, 0];
  const all = [
    ...(summary
      ? [{ name: `median of ${lines.length} and their middle half`, stroke: ink, dash: dash(0) }]
      : []),
    ...named.map(({ name, colour }) => ({
      name,
      stroke: series[colour % HUES]!,
      dash: dash(colour),
    })),
  ];
  for (const one of all) {
    const width = SWATCH + LETTER * one.name.length + 18;
    if (x > LEFT && x + width > WIDTH - RIGHT) [x, row] = [LEFT, row + 1];
    const y = TOP + PLOT + BELOW + ROW * row + 8;
    shapes.push({
      kind: "path",
      d: `M${x} ${y}h24`,
      stroke: one.stroke,
      width: 2.5,
      dash: one.dash,
    });
    shapes.push(text(x + SWATCH, y + 4, one.name, ink, 12));
    x += width;
  }
  return { shapes, height: all.length ? ROW * (row + 1) + 12 : 12 };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** Writes a picture as SVG. */
export function svgOf({ width, height, page, plot, shapes }: Picture): string {
  const [x, y, across, down] = plot;
  const parts = shapes.map((shape) => {
    if (shape.kind === "text") {
      const { x, y, fill, size, anchor } = shape;
      const place = `x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"`;
      return `<text ${place} font-size="${size}" fill="${escaped(fill)}">${escaped(shape.text)}</text>`;
    }
    const { d, stroke, width, dash, fill, opacity, clipped } = shape;
    const attributes = {
      d,
      fill: fill ?? "none",
      stroke,
      "stroke-width": width,
      "stroke-dasharray": dash?.length ? dash.join(" ") : undefined,
      opacity,
      "clip-path": clipped ? "url(#plot)" : undefined,
    };
    const written = Object.entries(attributes).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}="${escaped(String(value))}"`],
    );
    return `<path ${written.join(" ")}/>`;
  });
  const size = `width="${width}" height="${height}"`;
  const inside = `x="${x - 5}" y="${y - 5}" width="${across + 10}" height="${down + 10}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ${size}`,
    ` font-family="${FONT}">`,
    `<clipPath id="plot"><rect ${inside}/></clipPath>`,
    `<rect ${size} fill="${page}"/>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** Paints a picture on a canvas, with so many pixels for each of its own. */
export function canvasOf(picture: Picture, scale: number): HTMLCanvasElement {
  const { width, height, page, plot, shapes } = picture;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  pen.fillStyle = page;
  pen.fillRect(0, 0, width, height);
  const [x, y, across, down] = plot;
  for (const shape of shapes) {
    pen.save();
    if (shape.kind === "text") {
      pen.font = `${shape.size}px ${FONT}`;
      pen.textAlign = shape.anchor === "middle" ? "center" : shape.anchor;
      pen.fillStyle = shape.fill;
      pen.fillText(shape.text, shape.x, shape.y);
    } else {
      if (shape.clipped) {
        pen.beginPath();
        pen.rect(x - 5, y - 5, across + 10, down + 10);
        pen.clip();
      }
      const path = new Path2D(shape.d);
      pen.globalAlpha = shape.opacity ?? 1;
      if (shape.fill) {
        pen.fillStyle = shape.fill;
        pen.fill(path);
      }
      if (shape.stroke) {
        pen.strokeStyle = shape.stroke;
        pen.lineWidth = shape.width ?? 1;
        pen.setLineDash([...(shape.dash ?? [])]);
        pen.stroke(path);
      }
    }
    pen.restore();
  }
  return canvas;
}
