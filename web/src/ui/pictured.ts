/** This file ties a chart to the figure around it, which saves the chart as a picture. */
import { createContext } from "preact";
import type { Shown } from "./picture";

/**
 * Where the chart of a figure leaves a function that tells what it shows now, null before it is
 * drawn; where the figure is a drawing on the page, the function gives that. Without either there
 * is no function.
 */
export interface Pictured {
  shown: (() => Omit<Shown, "title"> | SVGSVGElement | null) | null;
}

export const PicturedBy = createContext<Pictured>({ shown: null });
