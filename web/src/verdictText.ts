/**
 * This file shortens the reasons that PBT stores with a round: they have all digits, so that a
 * round can be replayed to the same words. All of it is pure.
 */
import { decimal, percent } from "./format";

const NUMBER = /(win rate |ahead by |behind by )?([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)/g;

/** Names the players that a member met: where returns count, they are partners. */
function met(verdict: string): string {
  return verdict.includes(", return ")
    ? verdict.replaceAll(" common opponent", " common partner")
    : verdict;
}

/** Returns a text in which numbers have three digits that matter; whole numbers stay. */
export function rounded(text: string): string {
  const cut = (_: string, before: string = "", number: string) => before + short(number);
  return met(text).replace(NUMBER, cut);
}

/**
 * Returns the reason of a round in short: the rank and what follows from it. Win rates are in
 * percent, leads of win rates in points.
 */
export function reasonText(verdict: string): string {
  verdict = met(verdict);
  const at = verdict.indexOf(": ");
  const rank = at < 0 ? undefined : /^rank \d+ of \d+/.exec(verdict)?.[0];
  const told = rank ? rank + verdict.slice(at) : verdict;
  if (!verdict.slice(0, Math.max(0, at)).includes("win rate")) return rounded(told);
  return told.replace(NUMBER, (_, before: string = "", number: string) => {
    if (before === "win rate ") return before + percent(Number(number));
    return before ? `${before}${(100 * Number(number)).toFixed(1)} points` : short(number);
  });
}

function short(number: string): string {
  if (!/[.e]/.test(number)) return number;
  const written = decimal(Number(Number(number).toPrecision(3)));
  return number.startsWith("+") ? `+${written}` : written;
}
