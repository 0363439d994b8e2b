/**
 * This file tells which values of hyperparameters the strongest members share: the range of theirs
 * against that of all. All of it is pure.
 */

export interface Range {
  low: number;
  median: number;
  high: number;
}

/** One hyperparameter of the members of a role. */
export interface SharedValue {
  name: string;
  all: Range;
  top: Range;
  /**
   * The probability that as many members, drawn by chance, have values as close together, times the
   * number of hyperparameters (Bonferroni); null where that says nothing.
   */
  chance: number | null;
}

/** Returns how many members are the top quarter. */
export function quarterOf(members: number): number {
  return Math.ceil(members / 4);
}

/**
 * Returns for each hyperparameter the range of the values of the top quarter and of all.
 * ranked: values of the members, best first
 */
export function sharedValues(ranked: readonly Readonly<Record<string, number>>[]): SharedValue[] {
  const names = [...new Set(ranked.flatMap(Object.keys))].sort();
  const top = ranked.slice(0, quarterOf(ranked.length));
  const changing = names.filter((name) => new Set(valuesOf(ranked, name)).size > 1);
  return names.flatMap((name) => {
    const all = valuesOf(ranked, name);
    const best = valuesOf(top, name);
    if (best.length === 0) return [];
    // Factors count for positive values: mutation multiplies.
    const scale = all.every((value) => value > 0) ? Math.log : (value: number) => value;
    const chance =
      best.length < 2 || !changing.includes(name)
        ? null
        : Math.min(1, changing.length * chanceOf(all.map(scale), best.map(scale)));
    return [{ name, all: rangeOf(all), top: rangeOf(best), chance }];
  });
}

function valuesOf(rows: readonly Readonly<Record<string, number>>[], name: string): number[] {
  return rows.flatMap((row) => (row[name] === undefined ? [] : [row[name]]));
}

export function rangeOf(values: readonly number[]): Range {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
  return { low: sorted[0]!, median, high: sorted.at(-1)! };
}

/**
 * Returns the probability that a random choice of as many values spreads no further than `chosen`:
 * the share of all choices (a permutation test).
 */
export function chanceOf(all: readonly number[], chosen: readonly number[]): number {
  const sorted = [...all].sort((a, b) => a - b);
  const [many, few] = [sorted.length, chosen.length];
  const spread = Math.max(...chosen) - Math.min(...chosen) + 1e-12;
  let share = 0;
  for (let least = 0; least + few <= many; least += 1) {
    let last = least;
    while (last + 1 < many && sorted[last + 1]! - sorted[least]! <= spread) last += 1;
    // The choices whose smallest value is this one; the others lie between it and the last.
    share += choose(last - least, few - 1) / choose(many, few);
  }
  return share;
}

function choose(of: number, some: number): number {
  let found = 1;
  for (let one = 1; one <= some; one += 1) found *= (of - some + one) / one;
  return some > of ? 0 : found;
}
