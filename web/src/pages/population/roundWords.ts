/** This file puts a round of PBT into words. All of it is pure. */
import type { Got } from "../../api/client";
import { decimal, margin, percent } from "../../format";
import { valued } from "../../pairs";

export type RoundCardBody = Got<"/v1/populations/{name}/rounds/{number}">;
export type MemberRound = RoundCardBody["members"][number];
type Counts = RoundCardBody["counts"];

/** What a round ranks, by what its game counts. */
export const RANKED_BY: Record<Counts, string> = {
  win: "win rate",
  margin: "margin a game",
  return: "return a game",
};

/** Writes the mean of what is ranked. */
export function worthText(value: number, counts: Counts): string {
  return counts === "win" ? percent(value) : counts === "margin" ? margin(value) : decimal(value);
}

/** Writes a difference of means with its sign: of win rates in percentage points. */
export function leadText(value: number, counts: Counts): string {
  if (counts !== "win") return margin(value);
  return `${margin(Number((100 * value).toFixed(1)))} points`;
}

/** Says by how much a member was ahead: "ahead by 6.5 points", "behind by 0.3". */
export function aheadText(value: number, counts: Counts): string {
  return `${value < 0 ? "behind" : "ahead"} by ${leadText(Math.abs(value), counts).replace("+", "")}`;
}

/** Says over which games two members were compared: "on 3 common opponents". */
export function commonText(met: number, counts: Counts): string {
  if (met === 0) return "over all games";
  return `on ${met} common ${valued(counts).other}${met === 1 ? "" : "s"}`;
}

/** Says why a member copied another one, or did not, in words for people. */
export function whyText(one: MemberRound, counts: Counts): string {
  const { lead } = one;
  if (!lead) return one.reason;
  const on = commonText(lead.opponents, counts);
  const wide = lead.errors === null ? "" : ` (${short(lead.errors)} standard errors)`;
  return `${lead.member} was ${aheadText(lead.ahead, counts)} ${on}${wide}${chanceText(lead)}`;
}

function chanceText({ p, level, copied }: NonNullable<MemberRound["lead"]>): string {
  if (p === null || level === null) return copied ? ", which is enough" : "";
  const sides = `p = ${chance(p)}; the round allows ${chance(level)}`;
  return copied ? `, more than chance makes (${sides})` : `, which may be chance (${sides})`;
}

/** Writes a change: "0.0005 → 0.0006 → 0.00072", where the middle one is the donor's. */
export function changeText({ before, donor, after }: MemberRound["changes"][number]): string {
  const steps = [before, ...(donor === null || donor === after ? [] : [donor]), after];
  return steps.map(short).join(" → ");
}

/** Writes a probability with the two digits that matter. */
export function chance(value: number): string {
  return decimal(Number(value.toPrecision(2)));
}

function short(value: number): string {
  return decimal(Number(value.toPrecision(3)));
}

/** Returns members by what the round did to them, in the order in which a person asks. */
export function byDeed(card: RoundCardBody): Record<MemberRound["did"], MemberRound[]> {
  const of = (did: MemberRound["did"]) => card.members.filter((one) => one.did === did);
  return {
    copied: of("copied"),
    mutated: of("mutated"),
    kept: of("kept"),
    unchanged: of("unchanged"),
    unranked: of("unranked"),
  };
}
