/**
 * This file says how the assessment of a population is shown: the words and the colour of its
 * conclusion, its numbers in their own unit, its members in order. All of it is pure.
 */
import type { Assessment, Conclusion, Finding, MemberRow, Unit } from "./api/assessment";
import type { Objective } from "./api/reports";
import { elo, interval, margin } from "./format";
import { type Counted, countedIn } from "./strength";

/** How good or bad something is; it chooses a colour and a sign. */
export type Level = "good" | "info" | "warn" | "bad";

/** The sign of a level, so that the colour alone does not say it. */
export const SIGNS: Record<Level, string> = { good: "✓", info: "•", warn: "!", bad: "✕" };

interface Words {
  level: Level;
  /** While it trains, or could go on. */
  now: string;
  /** Once it has finished. */
  then: string;
}

const CONCLUSIONS: Record<Conclusion, Words> = {
  too_early: { level: "info", now: "Too early to say", then: "Too little to say" },
  learning: { level: "good", now: "It is learning", then: "It learned" },
  steady: { level: "info", now: "No sure change", then: "No sure change at the end" },
  stalled: { level: "warn", now: "It has stalled", then: "It had stalled at the end" },
  collapsed: { level: "bad", now: "It has collapsed", then: "It had collapsed at the end" },
  none_better: {
    level: "warn",
    now: "No member is surely better than random",
    then: "No member became surely better than random",
  },
  broken: { level: "bad", now: "It is broken", then: "It was broken at the end" },
};

/**
 * The conclusion in words. Of a population that finished, it is the result.
 * flatSince: the clock from which on it gained nothing, null where it did
 */
export function conclusionOf(
  conclusion: Conclusion,
  state: string,
  flatSince: number | null = null,
): { level: Level; title: string } {
  if (conclusion === "learning" && flatSince !== null)
    return { level: "info", title: "It learned, then stopped growing" };
  const { level, now, then } = CONCLUSIONS[conclusion];
  return { level, title: state === "finished" ? then : now };
}

/**
 * Answers in a word whether the members of a role learn.
 * conclusion: on the population; null where it may be that of another role
 */
export function learnsText(
  conclusion: Conclusion | null,
  { low, high }: { low: number; high: number },
): string {
  if (conclusion === "stalled" || conclusion === "collapsed" || high < 0) return "No:";
  return low > 0 ? "Yes:" : "Not surely:";
}

/** Returns the worst finding that is no conclusion on strength; null where nothing is wrong. */
export function worstOf(findings: readonly Finding[]): Finding | null {
  const faults = findings.filter(({ kind }) => !(kind in CONCLUSIONS));
  return (
    faults.find(({ level }) => level === "bad") ??
    faults.find(({ level }) => level === "warn") ??
    null
  );
}

/**
 * Returns the findings that the page does not tell anyhow: in its heading, as the worst one, or as
 * its message. Of several roles each has its own conclusion.
 */
export function restOf(
  { findings, roles }: Pick<Assessment, "findings" | "roles">,
  message: string,
): Finding[] {
  const worst = worstOf(findings);
  return findings.filter(
    (one) =>
      one !== worst && one.text !== message && (roles.length > 1 || !(one.kind in CONCLUSIONS)),
  );
}

const OBJECTIVES: Record<Unit, Objective> = { elo: "win", margin: "margin", return: "return" };

/** What the numbers of an assessment are. */
export function countedBy(unit: Unit): Counted {
  return countedIn(OBJECTIVES[unit]);
}

/** A number with its interval, or with the one bound that is known. */
export interface Ranged {
  value: number | null;
  low: number | null;
  high: number | null;
}

/**
 * Returns a number as a person reads it, and its interval. A number with an open end is a bound.
 */
export function rangedText(
  { value, low, high }: Ranged,
  format: (value: number) => string,
): { text: string; ends: string } | null {
  const ends = interval(low, high, format);
  if (low !== null && high !== null && value !== null) return { text: format(value), ends };
  if (ends) return { text: ends, ends: "" };
  return value === null ? null : { text: format(value), ends: "" };
}

/**
 * Writes the strength of the best: what its games say, and what it surely is although it was chosen
 * among many.
 */
export function claimOf(
  { value, low }: { value: number; low: number | null },
  format: (value: number) => string,
): { text: string; bound: string } {
  return { text: format(value), bound: low === null ? "" : `(at least ${format(low)})` };
}

/** Returns how a change of strength is written: with its sign, "+353" or "−1.43". */
export function changeFormat(unit: Unit): (value: number) => string {
  return unit === "elo" ? elo : margin;
}

/** Returns what PBT did last, of all members. */
export function lastPbtOf(members: readonly MemberRow[]): MemberRow | null {
  const done = members.filter((one) => one.last_pbt !== null);
  return done.reduce<MemberRow | null>(
    (newest, one) => (newest && newest.last_pbt!.time >= one.last_pbt!.time ? newest : one),
    null,
  );
}

const HEALTH: readonly MemberRow["health"][] = ["dead", "refusing", "behind", "unknown", "ok"];

/** Orders of members: the name in the address, and what a person chooses. */
export const MEMBER_ORDERS = {
  strength: "strength",
  health: "health",
  frames: "frames",
  pbt: "newest PBT event",
  name: "name",
} as const;
export type MemberOrder = keyof typeof MEMBER_ORDERS;

function byName(a: MemberRow, b: MemberRow): number {
  return a.member.localeCompare(b.member, undefined, { numeric: true });
}

/** Returns by how much `b` stands before `a`; members without a number stand last. */
function down(a: number | null | undefined, b: number | null | undefined): number {
  return (b ?? -Infinity) === (a ?? -Infinity) ? 0 : (b ?? -Infinity) - (a ?? -Infinity);
}

/**
 * Returns the members in an order: the strongest of each role, the sickest, the farthest or the
 * newest first.
 */
export function ordered(members: readonly MemberRow[], order: MemberOrder): MemberRow[] {
  const places: Record<MemberOrder, (a: MemberRow, b: MemberRow) => number> = {
    strength: (a, b) => a.role.localeCompare(b.role) || down(a.value ?? a.low, b.value ?? b.low),
    health: (a, b) => HEALTH.indexOf(a.health) - HEALTH.indexOf(b.health),
    frames: (a, b) => b.frames - a.frames,
    pbt: (a, b) => down(a.last_pbt?.time, b.last_pbt?.time),
    name: () => 0,
  };
  return [...members].sort((a, b) => places[order](a, b) || byName(a, b));
}
