/**
 * This file chooses colours. Series are numbered, and can be told apart with any colour vision
 * (after Okabe and Ito); beyond eight, lines are dashed, too.
 */

export const HUES = 8;

/** Returns the colour of a series. */
export function hue(index: number): string {
  return getComputedStyle(document.documentElement)
    .getPropertyValue(`--series-${index % HUES}`)
    .trim();
}

/** Returns a colour of `tokens.css` by its name. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Returns the dashes of the line of a series; an empty list is a solid line. */
export function dash(index: number): number[] {
  const turn = Math.floor(index / HUES);
  return turn === 0 ? [] : turn === 1 ? [8, 4] : turn === 2 ? [2, 4] : [8, 4, 2, 4];
}

type Rgb = readonly [number, number, number];

/** Returns the colour of a score: blue above a half, orange below, pale with few games. */
export function scoreColour(score: number, games: number, dark: boolean): string {
  const win: Rgb = dark ? [86, 160, 235] : [0, 92, 170];
  const loss: Rgb = dark ? [240, 150, 50] : [205, 95, 0];
  const base: Rgb = dark ? [38, 44, 52] : [240, 241, 243];
  const strength = Math.min(1, Math.abs(score - 0.5) * 2) * Math.min(1, 0.35 + games / 60);
  const towards = score >= 0.5 ? win : loss;
  const mixed = base.map((from, index) => Math.round(from + (towards[index]! - from) * strength));
  return `rgb(${mixed.join(" ")})`;
}

/**
 * Returns black or white: the one that is read more easily on a colour (relative luminance, WCAG
 * 2).
 */
export function inkOn(rgb: string): string {
  const [r, g, b] = (rgb.match(/\d+/g) ?? []).map(Number).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b! > 0.179 ? "#000" : "#fff";
}
