/** This file computes where the lanes and arcs of a lineage are drawn. All of it is pure. */
import { type Ancestry, isStep, laneHeight, SHARED_COLOUR, type Stretch } from "./ancestry";
import type { Copy } from "./history";

const LEFT_PX = 46;
const RIGHT_PX = 14;
const BELOW_PX = 24;
const MOST_BEND_PX = 34;

export interface LaneLine {
  key: string;
  x1: number;
  x2: number;
  y: number;
  colour: number;
  /** Its founder has no colour of its own. */
  pale: boolean;
  /** It belongs to the path that stands out. */
  bold: boolean;
}

export interface Arc {
  copy: Copy;
  /** An SVG path. */
  path: string;
  /** Where it ends: at the member that copied. */
  x: number;
  y: number;
  colour: number;
  pale: boolean;
  bold: boolean;
}

export interface LaneName {
  member: string;
  y: number;
}

export interface Picture {
  width: number;
  height: number;
  lane: number;
  names: readonly LaneName[];
  lines: readonly LaneLine[];
  arcs: readonly Arc[];
  ticks: readonly { frames: number; x: number }[];
}

/**
 * Returns the picture of a lineage.
 * order: members from the top to the bottom
 * path: the stretches that stand out
 * width: in pixels
 */
export function pictureOf(
  of: Ancestry,
  order: readonly string[],
  colours: ReadonlyMap<string, number>,
  path: readonly Stretch[],
  width: number,
): Picture {
  const lane = laneHeight(order.length);
  const x = (frames: number) => LEFT_PX + ((width - LEFT_PX - RIGHT_PX) * frames) / of.most;
  const rows = new Map(order.map((member, index) => [member, lane * (index + 0.5)]));
  const y = (member: string) => rows.get(member) ?? 0;
  const colour = (founder: string) => colours.get(founder) ?? SHARED_COLOUR;
  const line = ({ member, from, to, founder }: Stretch, bold: boolean): LaneLine => ({
    key: `${member} ${from} ${bold}`,
    x1: x(from),
    x2: x(Math.min(to, of.most)),
    y: y(member),
    colour: colour(founder),
    pale: !colours.has(founder),
    bold,
  });
  const arcs = of.copies.map((copy): Arc => {
    const after = of.stretches.find(
      (stretch) => stretch.member === copy.to && stretch.from === copy.frames,
    );
    const [x1, x2, y1, y2] = [x(copy.fromFrames), x(copy.frames), y(copy.from), y(copy.to)];
    return {
      copy,
      path: arcPath(x1, y1, x2, y2),
      x: x2,
      y: y2,
      colour: colour(after?.founder ?? copy.from),
      pale: !colours.has(after?.founder ?? copy.from),
      bold: isStep(path, copy),
    };
  });
  const ticks = width < 400 ? 3 : 5;
  return {
    width,
    height: lane * order.length + BELOW_PX,
    lane,
    names: order.map((member) => ({ member, y: y(member) })),
    lines: [
      ...of.stretches.map((stretch) => line(stretch, false)),
      ...path.map((stretch) => line(stretch, true)),
    ],
    // What stands out is drawn last.
    arcs: [...arcs].sort((a, b) => Number(a.bold) - Number(b.bold)),
    ticks: Array.from({ length: ticks }, (_, index) => {
      const frames = (of.most * index) / (ticks - 1);
      return { frames, x: x(frames) };
    }),
  };
}

/**
 * Returns a curve from the donor's moment to the copy. Both are at about the same frames, so it
 * swings out to the right, further for lanes that lie far apart.
 */
function arcPath(x1: number, y1: number, x2: number, y2: number): string {
  const bend = Math.min(MOST_BEND_PX, 5 + Math.abs(y2 - y1) / 6);
  const out = Math.max(x1, x2) + bend;
  const at = (value: number) => value.toFixed(1);
  return `M ${at(x1)} ${at(y1)} C ${at(out)} ${at(y1)}, ${at(out)} ${at(y2)}, ${at(x2)} ${at(y2)}`;
}

const REACH_PX = 14;

/** Returns the copy whose end is nearest to a place in the picture; null where none is near. */
export function copyAt(picture: Picture, x: number, y: number): Copy | null {
  let [found, least]: [Copy | null, number] = [null, REACH_PX];
  for (const arc of picture.arcs) {
    const far = Math.hypot(arc.x - x, arc.y - y);
    if (far <= least) [found, least] = [arc.copy, far];
  }
  return found;
}
