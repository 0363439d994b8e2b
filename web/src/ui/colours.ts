/** Colours by number, told apart by people who see colours differently (after Okabe and Ito); past eight, lines are dashed, too. */

export const HUES = 8;

export function hue(index: number): string {
  return getComputedStyle(document.documentElement)
    .getPropertyValue(`--series-${index % HUES}`)
    .trim();
}

export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function dash(index: number): number[] {
  const turn = Math.floor(index / HUES);
  return turn === 0 ? [] : turn === 1 ? [8, 4] : turn === 2 ? [2, 4] : [8, 4, 2, 4];
}

type Rgb = readonly [number, number, number];

/** A score as a colour: blue above a half, orange below; few games are pale. base: the page's background. */
export function scoreColour(score: number, games: number, dark: boolean): string {
  const win: Rgb = dark ? [86, 160, 235] : [0, 92, 170];
  const loss: Rgb = dark ? [240, 150, 50] : [205, 95, 0];
  const base: Rgb = dark ? [38, 44, 52] : [240, 241, 243];
  const strength = Math.min(1, Math.abs(score - 0.5) * 2) * Math.min(1, 0.35 + games / 60);
  const towards = score >= 0.5 ? win : loss;
  const mixed = base.map((from, index) => Math.round(from + (towards[index]! - from) * strength));
  return `rgb(${mixed.join(" ")})`;
}

/** Black or white, whichever is read more easily on it (relative luminance, WCAG 2). */
export function inkOn(rgb: string): string {
  const [r, g, b] = (rgb.match(/\d+/g) ?? []).map(Number).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b! > 0.179 ? "#000" : "#fff";
}
