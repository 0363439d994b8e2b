/** `CircleFigure` draws players that beat each other in a circle, with arrows. */
import { useContext, useMemo, useRef } from "preact/hooks";
import type { Circle } from "../api/reports";
import { type CircleGraph, graphOf, NODE_PX } from "../circleLayout";
import { decimal, short } from "../format";
import { Figure } from "../ui/Figure";
import { PicturedBy } from "../ui/pictured";
import type { Column } from "../ui/table";

/** p is the chance of such a circle if there were none. */
const COLUMNS: readonly Column<Circle>[] = [
  { name: "beats the next", value: (row) => row.players[0] },
  { name: "beats the last", value: (row) => row.players[1] },
  { name: "beats the first", value: (row) => row.players[2] },
  { name: "p", value: (row) => row.p, show: (row) => decimal(row.p), numeric: true },
];

export function CircleFigure({ circles }: { circles: readonly Circle[] }) {
  const graph = useMemo(() => graphOf(circles.map((circle) => circle.players)), [circles]);
  const many = circles.length > graph.drawn ? `the ${graph.drawn} surest of ${circles.length}` : "";
  return (
    <Figure
      title={circles.length === 1 ? "A circle" : "Circles"}
      note={`An arrow leads to the player that is surely beaten${many && `; ${many}`}.`}
      columns={COLUMNS}
      rows={circles}
    >
      <Drawn graph={graph} />
      <ul class="circles">
        {circles.slice(0, graph.drawn).map((circle) => (
          <li key={circle.players.join()}>
            {[...circle.players, circle.players[0]!].map(short).join(" › ")}{" "}
            <small>p = {decimal(circle.p)}</small>
          </li>
        ))}
      </ul>
    </Figure>
  );
}

function Drawn({ graph: { width, height, nodes, arrows } }: { graph: CircleGraph }) {
  const drawing = useRef<SVGSVGElement>(null);
  useContext(PicturedBy).shown = () => drawing.current;
  return (
    <svg
      ref={drawing}
      class="circle-graph"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={`${nodes.length} players that beat each other in circles`}
    >
      <defs>
        <marker
          id="beats"
          viewBox="0 0 8 8"
          refX="6"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
        >
          <path d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      {arrows.map(({ from, to, x1, y1, x2, y2 }) => (
        <line key={`${from} ${to}`} x1={x1} y1={y1} x2={x2} y2={y2} marker-end="url(#beats)" />
      ))}
      {nodes.map(({ name, x, y, label }) => (
        <g key={name}>
          <circle cx={x} cy={y} r={NODE_PX} />
          <text x={label.x} y={label.y} text-anchor={label.anchor}>
            {short(name)}
          </text>
        </g>
      ))}
    </svg>
  );
}
