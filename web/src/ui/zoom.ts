/** A zoom is the part of a chart that a person chose by dragging. The address keeps it as text. */
import type uPlot from "uplot";

export interface Zoom {
  min: number;
  max: number;
  unit: string;
}

/** Returns the part of x that a chart shows; null where it shows all of it. */
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

/** Writes a zoom for the address. */
export function zoomText({ min, max }: Zoom): string {
  return [min, max].map((x) => Number(x.toPrecision(6))).join("~");
}

/** Reads a zoom from the address: the least and the greatest x. */
export function zoomFrom(text: string | undefined, unit: string): Zoom | null {
  const [min, max] = (text ?? "").split("~").map(Number);
  return min !== undefined && max !== undefined && min < max ? { min, max, unit } : null;
}
