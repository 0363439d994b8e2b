/**
 * This file reads the history of the hyperparameters of a population: its copies, and its rounds by
 * their numbers. All of it is pure.
 */
import type { Got } from "../../api/client";

export type History = Got<"/v1/populations/{name}/hyperparameters">;
export type Point = History["members"][string][number];

export interface Copy {
  from: string;
  to: string;
  /** Of the clock of the member that copied. */
  frames: number;
  /** Of the clock of the copied member, when its weights were taken. */
  fromFrames: number;
  round: number;
  verdict: string;
}

/** Returns the names of members in the order of people: m2 before m10. */
export function inOrder(names: Iterable<string>): string[] {
  return [...names].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}

export function membersOf(history: History): string[] {
  return inOrder(new Set([...Object.keys(history.start), ...Object.keys(history.members)]));
}

/** Returns all copies, oldest first. */
export function copiesOf(history: History): Copy[] {
  const found = Object.entries(history.members).flatMap(([member, points]) =>
    points.flatMap((point) =>
      point.copied_from === null
        ? []
        : [
            {
              from: point.copied_from,
              to: member,
              frames: point.frames,
              // Where the snapshot is not known any more, the two clocks are taken for one.
              fromFrames: point.donor_frames ?? point.frames,
              round: point.round,
              verdict: point.verdict,
            },
          ],
    ),
  );
  return found.sort((a, b) => a.frames - b.frames || a.to.localeCompare(b.to));
}

/** All rounds of one number, in figures. */
export interface RoundNumbers {
  round: number;
  members: number;
  copies: number;
  /** Members whose values changed, without a copy. */
  mutated: number;
  /** The least and the greatest frames of their clocks. */
  first: number;
  last: number;
}

/** Returns the rounds by their numbers, newest first. */
export function roundNumbers(history: History): RoundNumbers[] {
  const found = new Map<number, RoundNumbers>();
  for (const point of Object.values(history.members).flat()) {
    const { round, frames } = point;
    const one = found.get(round) ?? {
      round,
      members: 0,
      copies: 0,
      mutated: 0,
      first: frames,
      last: frames,
    };
    const copied = point.copied_from !== null;
    found.set(round, {
      round,
      members: one.members + 1,
      copies: one.copies + Number(copied),
      mutated: one.mutated + Number(!copied && point.mutated.length > 0),
      first: Math.min(one.first, frames),
      last: Math.max(one.last, frames),
    });
  }
  return [...found.values()].sort((a, b) => b.round - a.round);
}
