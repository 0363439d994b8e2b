/**
 * This file follows weights through copies: from which member those of a lane descend, which chain
 * leads to a policy, and in which order and colours lanes are read most easily. All of it is pure.
 */
import { HUES } from "../../ui/colours";
import { type Copy, copiesOf, type History, inOrder, membersOf } from "./history";

/** A part of a member's clock in which it trained weights of one descent. */
export interface Stretch {
  member: string;
  from: number;
  to: number;
  /** The member that began with these weights' first ancestor. */
  founder: string;
}

export interface Ancestry {
  members: readonly string[];
  copies: readonly Copy[];
  /** In the order of members, then of frames. */
  stretches: readonly Stretch[];
  /** The founder of the weights that a member has now, by member. */
  founders: ReadonlyMap<string, string>;
  /** The founders whose descendants still learn, those with most first. */
  families: readonly { founder: string; members: readonly string[] }[];
  /** The greatest frames of any clock, at least 1. */
  most: number;
}

/**
 * Returns the descent of all members.
 * now: frames of each member's clock at this moment
 */
export function ancestryOf(history: History, now: ReadonlyMap<string, number>): Ancestry {
  const members = membersOf(history);
  const copies = copiesOf(history);
  const of = (member: string) => copies.filter((copy) => copy.to === member);
  const own = new Map(members.map((member) => [member, of(member)]));
  const most = Math.max(1, ...now.values(), ...copies.map((copy) => copy.frames));
  const founderAt = founderIn(own, history);
  const stretches = members.flatMap((member) => {
    const taken = own.get(member)!;
    const starts = [0, ...taken.map((copy) => copy.frames)];
    const end = Math.max(now.get(member) ?? most, starts.at(-1)!);
    return starts.map((from, index) => ({
      member,
      from,
      to: starts[index + 1] ?? end,
      founder: founderAt(member, from),
    }));
  });
  const founders = new Map(stretches.map((stretch) => [stretch.member, stretch.founder]));
  const families = inOrder(new Set(founders.values()))
    .map((founder) => ({
      founder,
      members: members.filter((member) => founders.get(member) === founder),
    }))
    .sort((a, b) => b.members.length - a.members.length);
  return { members, copies, stretches, founders, families, most };
}

/** Returns a function that tells the founder of a member's weights at some frames of its clock. */
function founderIn(
  copies: ReadonlyMap<string, readonly Copy[]>,
  history: History,
): (member: string, frames: number) => string {
  return (member, frames) => {
    let at = { member, frames };
    // A chain is no longer than there are copies; damaged rows must not make it endless.
    const seen = new Set<string>();
    for (;;) {
      const before = cameFrom(copies.get(at.member) ?? [], history, at);
      const name = before && `${before.member} ${before.frames}`;
      if (!before || seen.has(name!)) return at.member;
      seen.add(name!);
      at = before;
    }
  };
}

interface Moment {
  member: string;
  frames: number;
}

/**
 * Returns where the weights of a member came from last: the donor of its newest copy, or of its
 * beginning; null where it began with new ones.
 * copies: of this member, oldest first
 */
function cameFrom(copies: readonly Copy[], history: History, at: Moment): Moment | null {
  const last = copies.findLast((copy) => copy.frames <= at.frames);
  if (last) return { member: last.from, frames: last.fromFrames };
  const origin = history.origins[at.member];
  return origin && origin.member !== null
    ? { member: origin.member, frames: origin.frames ?? 0 }
    : null;
}

/**
 * Returns the parts of clocks in which the weights of a member at some frames were trained, oldest
 * first.
 */
export function pathTo(history: History, copies: readonly Copy[], end: Moment): Stretch[] {
  const found: Stretch[] = [];
  for (let at: Moment | null = end; at && found.length <= copies.length + 1;) {
    const { member, frames }: Moment = at;
    const own = copies.filter((copy) => copy.to === member);
    const start = own.findLast((copy) => copy.frames <= frames)?.frames ?? 0;
    found.unshift({ member, from: start, to: frames, founder: "" });
    at = cameFrom(own, history, { member, frames });
  }
  return found.map((stretch) => ({ ...stretch, founder: found[0]!.member }));
}

/** Tells whether a copy is a step of a path. */
export function isStep(path: readonly Stretch[], copy: Copy): boolean {
  return path.some(
    (stretch, index) =>
      index > 0 &&
      stretch.member === copy.to &&
      stretch.from === copy.frames &&
      path[index - 1]!.member === copy.from,
  );
}

/** Returns members by family, the largest first, so that lanes of one colour lie together. */
export function byFamily({ families }: Ancestry): string[] {
  return families.flatMap(({ founder, members }) =>
    members.includes(founder)
      ? [founder, ...members.filter((member) => member !== founder)]
      : members,
  );
}

/** The colour of descendants of founders that share one. */
export const SHARED_COLOUR = HUES - 1;

/**
 * Returns the colour of each founder. Of up to eight members each has the colour that it has in all
 * charts. Of more, the largest families have a colour each, and the others share one.
 */
export function familyColours({ members, families }: Ancestry): ReadonlyMap<string, number> {
  if (members.length <= HUES) return new Map(members.map((member, index) => [member, index]));
  return new Map(
    families
      .slice(0, SHARED_COLOUR)
      .map(({ founder }, index): [string, number] => [founder, index]),
  );
}

/** Returns the height of a lane in pixels: fewer for many, so that all fit on a screen or two. */
export function laneHeight(members: number): number {
  return Math.max(13, Math.min(34, Math.floor(900 / Math.max(1, members))));
}
