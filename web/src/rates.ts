/** This file makes lines of win rates over frames. All of it is pure. */
import type { Got, Schemas } from "./api/client";
import type { Line } from "./ui/lines";

export type RateReport = Got<"/v1/populations/{name}/win-rates">;
export type MemberRates = RateReport["members"][number];
export type Block = Schemas["RateBlockBody"];
export type RateOpponent = RateReport["opponents"][number];

/** With more members than this a chart has the median of all, and the best and the worst. */
export const MOST_MEMBERS = 8;
const BEST = 3;
const QUARTERS = [0.25, 0.5, 0.75] as const;

/** Returns how an opponent is called. */
export function opponentName({ name, kind }: RateOpponent, returns: boolean): string {
  if (kind === "others") return "all other members";
  if (kind === "itself") return returns ? "itself in all seats" : "its own earlier snapshots";
  return name;
}

/** Returns the value below which a share of sorted values lie. */
function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return low + (high - low) * (at - Math.floor(at));
}

/** Returns the median of all members in each block, with the quarter below and above. */
export function medianOf(members: readonly MemberRates[], colour: number): Line {
  const blocks = new Map<number, Block[]>();
  for (const { blocks: own } of members)
    for (const block of own) blocks.set(block.first, [...(blocks.get(block.first) ?? []), block]);
  const firsts = [...blocks.keys()].sort((a, b) => a - b);
  const [low, y, high] = QUARTERS.map((share) =>
    firsts.map((first) => {
      const values = blocks.get(first)!.map((block) => block.value);
      return quantile(
        values.sort((a, b) => a - b),
        share,
      );
    }),
  );
  const x = firsts.map((first) => {
    const own = blocks.get(first)!;
    return own.reduce((sum, block) => sum + block.frames, 0) / own.length;
  });
  return { name: "median of all", colour, x, y: y!, low: low!, high: high!, points: true };
}

/** Returns members by the value of their newest block, best first. */
export function byNewest(members: readonly MemberRates[]): MemberRates[] {
  const newest = (one: MemberRates) => one.blocks.at(-1)!.value;
  return members.filter((one) => one.blocks.length).sort((a, b) => newest(b) - newest(a));
}

/**
 * Returns the lines of a chart: one for each member, or of many members the median, the best and
 * the worst. A member's colour is its place among all members.
 */
export function rateLines(members: readonly MemberRates[], all: boolean): Line[] {
  const order = members.map((one) => one.member);
  const played = members.filter((one) => one.blocks.length);
  const lineOf = ({ member, blocks }: MemberRates, bands: boolean): Line => ({
    name: member,
    colour: order.indexOf(member),
    x: blocks.map((block) => block.frames),
    y: blocks.map((block) => block.value),
    ...(bands && {
      low: blocks.map((block) => block.low),
      high: blocks.map((block) => block.high),
    }),
    points: true,
  });
  if (played.length <= MOST_MEMBERS) return played.map((one) => lineOf(one, true));
  if (all) return played.map((one) => lineOf(one, false));
  const sorted = byNewest(played);
  const shown = [...sorted.slice(0, BEST), sorted.at(-1)!];
  // Beside the median, colours of members would be chance: the shown ones have the first ones.
  return [
    medianOf(played, 7),
    ...shown.map((one, colour) => ({
      ...lineOf(one, false),
      colour,
      name: `${one.member}${colour === BEST ? ", the worst" : colour === 0 ? ", the best" : ""}`,
    })),
  ];
}
