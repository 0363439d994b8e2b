/** This file lays out circles of players that beat each other as one small graph. It is pure. */

/** Names of three players; each beats the next, and the last one the first. */
export type Three = readonly string[];

export interface Node {
  name: string;
  x: number;
  y: number;
  /** Where its name stands. */
  label: { x: number; y: number; anchor: "start" | "middle" | "end" };
}

export interface Arrow {
  from: string;
  to: string;
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

export interface CircleGraph {
  width: number;
  height: number;
  nodes: Node[];
  arrows: Arrow[];
  /** How many of the circles are drawn. */
  drawn: number;
}

export const NODE_PX = 7;
const MOST_NODES = 12;
const LABEL_PX = 110;
const GAP_PX = 4;

/** Returns as many circles as have at most `MOST_NODES` players together, the first ones first. */
function fitting(circles: readonly Three[]): { names: string[]; drawn: number } {
  let names: string[] = [];
  let drawn = 0;
  for (const circle of circles) {
    const more = [...new Set([...names, ...circle])];
    if (more.length > MOST_NODES) break;
    [names, drawn] = [more, drawn + 1];
  }
  return { names, drawn };
}

export function graphOf(circles: readonly Three[]): CircleGraph {
  const { names, drawn } = fitting(circles);
  const radius = 44 + 9 * names.length;
  const middle = { x: radius + LABEL_PX, y: radius + 26 };
  const nodes = names.map((name, index): Node => {
    // The first player stands on top, the others follow clockwise.
    const angle = (2 * Math.PI * index) / names.length - Math.PI / 2;
    const [across, down] = [Math.cos(angle), Math.sin(angle)];
    const anchor = Math.abs(across) < 0.2 ? "middle" : across > 0 ? "start" : "end";
    const away = radius + 13;
    return {
      name,
      x: middle.x + radius * across,
      y: middle.y + radius * down,
      label: { x: middle.x + away * across, y: middle.y + away * down + 4 + 3 * down, anchor },
    };
  });
  const at = new Map(nodes.map((node) => [node.name, node]));
  const found = new Map<string, Arrow>();
  for (const circle of circles.slice(0, drawn))
    circle.forEach((from, index) => {
      const to = circle[(index + 1) % circle.length]!;
      found.set(`${from} ${to}`, { from, to, ...between(at.get(from)!, at.get(to)!) });
    });
  return {
    width: 2 * middle.x,
    height: 2 * middle.y,
    nodes,
    arrows: [...found.values()],
    drawn,
  };
}

/** Returns the line between two nodes, without the nodes themselves. */
function between(from: Node, to: Node): Pick<Arrow, "x1" | "y1" | "x2" | "y2"> {
  const [across, down] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(across, down) || 1;
  const step = (NODE_PX + GAP_PX) / length;
  return {
    x1: from.x + step * across,
    y1: from.y + step * down,
    x2: to.x - 1.4 * step * across,
    y2: to.y - 1.4 * step * down,
  };
}
