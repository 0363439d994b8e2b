/**
 * This file writes numbers as people read them. All of it is pure. A missing number is null;
 * `Value` shows it as a dash with its reason.
 */

const MINUS = "−";

function signed(text: string): string {
  return text.replace("-", MINUS);
}

const UNITS = [
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

/**
 * Writes 421888 as "422k": three digits, rounded up. The service names snapshots in the same way,
 * so "the snapshot at or below" means the same one.
 */
export function count(value: number): string {
  const whole = Math.ceil(value);
  for (const [unit, letter] of UNITS) {
    if (whole < unit) continue;
    const digits = whole < 10 * unit ? 2 : whole < 100 * unit ? 1 : 0;
    // One power of ten is taken at a time, so whole numbers up to 2^53 stay exact.
    return String(Math.ceil((whole * 10 ** digits) / unit) / 10 ** digits) + letter;
  }
  return signed(String(whole));
}

/** Writes a number with three or four digits that matter: 0.0048 stays 0.0048. */
export function decimal(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e4) return (value < 0 ? MINUS : "") + count(size);
  if (size < 1e-4) return signed(Number(value.toPrecision(3)).toExponential());
  return signed(String(Number(value.toPrecision(4))));
}

export function percent(share: number, digits = 1): string {
  return `${(100 * share).toFixed(digits)} %`;
}

export function elo(value: number): string {
  const whole = Math.round(value);
  return whole > 0 ? `+${whole}` : signed(String(whole));
}

/** Writes a margin with its sign and three digits that matter: "+0.66", "−12.5". */
export function margin(value: number): string {
  const rounded = Number(value.toPrecision(3));
  return rounded > 0 ? `+${rounded}` : rounded === 0 ? "0" : signed(String(rounded));
}

/** Writes an interval; an open end leaves a bound: ">= +640". "" without both ends. */
export function interval(
  low: number | null,
  high: number | null,
  format: (value: number) => string,
): string {
  if (low !== null && high !== null) return `[${format(low)}, ${format(high)}]`;
  return low !== null ? `>= ${format(low)}` : high !== null ? `<= ${format(high)}` : "";
}

/** Writes a duration in seconds as "3 min" or "2 h". */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h`;
  return `${Math.floor(whole / 86_400)} d`;
}

/** Writes how long ago something was: "3 min ago". */
export function ago(epochSeconds: number): string {
  return `${duration(Date.now() / 1000 - epochSeconds)} ago`;
}

export function when(epochSeconds: number): string {
  return new Date(1000 * epochSeconds).toLocaleString(undefined, {
    dateStyle: "medium",
    timeStyle: "medium",
  });
}

export function bytes(size: number): string {
  if (size < 1e6) return `${(size / 1e3).toFixed(1)} kB`;
  return size < 1e9 ? `${(size / 1e6).toFixed(1)} MB` : `${(size / 1e9).toFixed(1)} GB`;
}

const SPANS = [
  [3600, "h"],
  [60, "min"],
  [1, "s"],
] as const;

/**
 * Returns the unit in which a duration is read most easily: hours for 7200, minutes for 600.
 */
export function span(seconds: number): { unit: string; seconds: number } {
  const [each, unit] = SPANS.find(([each]) => seconds >= 3 * each) ?? SPANS[2];
  return { unit, seconds: each };
}

/** Begins a word with a capital, for labels. */
export function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Returns the part of "demo/m0@351k" behind its population. */
export function short(label: string): string {
  return label.slice(label.indexOf("/") + 1);
}
