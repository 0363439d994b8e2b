/**
 * This file makes a picture of a drawing on the page (an SVG element) as it is shown: its lines,
 * paths, circles and texts with the colours that they have now.
 */
import type { Palette, Picture, Shape } from "./picture";

const [MARGIN, HEAD, ARROW] = [16, 44, 7];

/** Returns the picture of a drawing with its title above. */
export function pictureOfDrawing(title: string, drawing: SVGSVGElement, palette: Palette): Picture {
  const { width, height } = sizeOf(drawing);
  const [right, down] = [MARGIN, HEAD];
  const shapes = [...drawing.querySelectorAll("line, path, circle, text")]
    .filter((part) => !part.closest("defs"))
    .flatMap((part) => shapesOf(part as SVGElement, right, down));
  return {
    width: width + 2 * MARGIN,
    height: height + HEAD + MARGIN,
    page: palette.page,
    plot: [right, down, width, height],
    shapes: [
      { kind: "text", x: MARGIN, y: 26, text: title, fill: palette.ink, size: 16, anchor: "start" },
      ...shapes,
    ],
  };
}

/** The size in units of the drawing, which are pixels where it has no view box. */
function sizeOf(drawing: SVGSVGElement): { width: number; height: number } {
  const { width, height } = drawing.viewBox.baseVal ?? { width: 0, height: 0 };
  return width > 0
    ? { width, height }
    : { width: number(drawing, "width"), height: number(drawing, "height") };
}

function shapesOf(part: SVGElement, right: number, down: number): Shape[] {
  const style = getComputedStyle(part);
  const at = (x: string, y: string) => [number(part, x) + right, number(part, y) + down] as const;
  if (part.tagName === "text") {
    const [x, y] = at("x", "y");
    const anchors = { middle: "middle", end: "end" } as Record<string, "middle" | "end">;
    const size = Number.parseFloat(style.fontSize);
    const middle = style.dominantBaseline === "middle" || style.dominantBaseline === "central";
    return [
      {
        kind: "text",
        x,
        y: middle ? y + size / 3 : y,
        text: part.textContent ?? "",
        fill: style.fill,
        size,
        anchor: anchors[style.textAnchor] ?? "start",
      },
    ];
  }
  const look = {
    ...(style.stroke !== "none" && {
      stroke: style.stroke,
      width: Number.parseFloat(style.strokeWidth),
    }),
    ...(style.fill !== "none" && part.tagName !== "line" && { fill: style.fill }),
    opacity: opacityOf(part),
  };
  if (part.tagName === "circle") {
    const [x, y] = at("cx", "cy");
    const r = number(part, "r");
    const half = `a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    return [{ kind: "path", d: `M${x - r} ${y}${half}`, ...look }];
  }
  if (part.tagName === "path")
    return [{ kind: "path", d: moved(part.getAttribute("d") ?? "", right, down), ...look }];
  const [[x1, y1], [x2, y2]] = [at("x1", "y1"), at("x2", "y2")];
  const line: Shape = { kind: "path", d: `M${x1} ${y1}L${x2} ${y2}`, ...look };
  if (style.markerEnd === "none" || style.markerEnd === "") return [line];
  return [line, arrow(x1, y1, x2, y2, style.stroke)];
}

/** Returns the head of an arrow. */
function arrow(x1: number, y1: number, x2: number, y2: number, fill: string): Shape {
  const long = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [right, down] = [(ARROW * (x2 - x1)) / long, (ARROW * (y2 - y1)) / long];
  const corner = (side: number) =>
    `${round(x2 - right - (side * down) / 2)} ${round(y2 - down + (side * right) / 2)}`;
  return { kind: "path", d: `M${round(x2)} ${round(y2)}L${corner(1)}L${corner(-1)}z`, fill };
}

/** Moves a path of absolute commands whose numbers are pairs: M, L, C, Q, S, T, Z. */
export function moved(d: string, right: number, down: number): string {
  let place = 0;
  return d.replace(/[A-Za-z]|-?\d*\.?\d+(?:e-?\d+)?/g, (part) => {
    if (/[A-Za-z]/.test(part)) {
      if (!"MLCQSTZz".includes(part)) throw new Error(`a path with ${part} cannot be moved`);
      place = 0;
      return part;
    }
    const by = place++ % 2 ? down : right;
    return String(round(Number(part) + by));
  });
}

function opacityOf(part: Element): number {
  let [opacity, at]: [number, Element | null] = [1, part];
  while (at && at.tagName !== "svg") {
    opacity *= Number(getComputedStyle(at).opacity);
    at = at.parentElement;
  }
  return opacity * Number(getComputedStyle(part).strokeOpacity || 1);
}

function number(part: Element, name: string): number {
  return Number.parseFloat(part.getAttribute(name) ?? "0") || 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
