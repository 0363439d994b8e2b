/** This file saves what a chart or a drawing shows as a picture. It is loaded when a person asks for one. */
import { HUES, hue, token } from "./colours";
import { saveFile } from "./Downloads";
import { pictureOfDrawing } from "./drawnPicture";
import { canvasOf, type Palette, pictureOf, type Shown, svgOf } from "./picture";

/** Pixels of a PNG for each of the picture's own: sharp on paper and on a dense screen. */
const SCALE = 2;

function palette(): Palette {
  const series = Array.from({ length: HUES }, (_, index) => hue(index));
  return {
    page: token("raised"),
    ink: token("ink"),
    soft: token("ink-soft"),
    grid: token("line"),
    series,
  };
}

export function savePicture(
  title: string,
  shown: Omit<Shown, "title"> | SVGSVGElement,
  kind: "png" | "svg",
): void {
  const picture =
    shown instanceof SVGSVGElement
      ? pictureOfDrawing(title, shown, palette())
      : pictureOf({ title, ...shown }, palette());
  const name = `${title}.${kind}`;
  if (kind === "svg") saveFile(name, svgOf(picture), "image/svg+xml");
  else
    canvasOf(picture, SCALE).toBlob(
      (blob) => blob && saveFile(name, blob, "image/png"),
      "image/png",
    );
}
