/** `Lanes` draws a lineage, and lets a person go from copy to copy. */
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../../format";
import { PicturedBy } from "../../ui/pictured";
import type { Ancestry, Stretch } from "./ancestry";
import type { Copy } from "./history";
import { type Arc, copyAt, type Picture, pictureOf } from "./lineagePicture";

const KEYS =
  "Point at a ring, or move with the arrow keys; a click or Enter says why it was copied.";

const ARROWS =
  "arrow keys go from copy to copy, Enter says why it was made; the numbers stand below";

export function Lanes({
  of,
  order,
  colours,
  path,
  open,
  choose,
}: {
  of: Ancestry;
  order: readonly string[];
  colours: ReadonlyMap<string, number>;
  path: readonly Stretch[];
  /** The copy whose reason is shown. */
  open: Copy | null;
  choose: (copy: Copy) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const drawing = useRef<SVGSVGElement>(null);
  useContext(PicturedBy).shown = () => drawing.current;
  const width = useWidth(box);
  const [at, setAt] = useState<Copy | null>(null);
  const picture = useMemo(
    () => pictureOf(of, order, colours, path, width),
    [of, order.join(), path, width],
  );
  const pointed = at && of.copies.find((copy) => isSame(copy, at));
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const index = pointed ? of.copies.indexOf(pointed) + step : step > 0 ? 0 : -1;
      setAt(of.copies.at(Math.min(index, of.copies.length - 1)) ?? null);
    } else if (event.key === "Enter" && pointed) choose(pointed);
  };
  const near = (event: MouseEvent) => copyAt(picture, event.offsetX, event.offsetY);
  return (
    <div ref={box} class="lineage">
      <p class="under" aria-live="polite">
        {pointed
          ? `${pointed.to} copied ${pointed.from} at ${count(pointed.frames)} frames, round ${pointed.round}`
          : of.copies.length > 0 && KEYS}
      </p>
      <div
        class={of.copies.length ? "opens" : ""}
        role="img"
        tabIndex={of.copies.length ? 0 : -1}
        aria-label={`${order.length} members, ${of.copies.length} copies; ${ARROWS}`}
        onMouseMove={(event) => setAt(near(event))}
        onMouseLeave={() => setAt(null)}
        onClick={(event) => {
          const copy = near(event);
          if (copy) choose(copy);
        }}
        onKeyDown={move}
      >
        <svg ref={drawing} width={picture.width} height={picture.height}>
          <Drawn picture={picture} />
          {[open, pointed].map((copy) => {
            const arc = copy && picture.arcs.find((one) => isSame(one.copy, copy));
            return arc && <Curve key={arc.copy.to} arc={arc} chosen lane={picture.lane} />;
          })}
        </svg>
      </div>
    </div>
  );
}

function isSame(a: Copy, b: Copy): boolean {
  return a.to === b.to && a.round === b.round && a.frames === b.frames;
}

/** Draws all that does not change while a person points at copies. */
function Drawn({ picture }: { picture: Picture }) {
  return useMemo(() => {
    const { ticks, height, names, lines, arcs, lane } = picture;
    return (
      <>
        {ticks.map(({ frames, x }, index) => (
          <g key={frames}>
            <line class="axis" x1={x} x2={x} y1={0} y2={height - 22} />
            <text
              x={x}
              y={height - 6}
              text-anchor={index === 0 ? "start" : index === ticks.length - 1 ? "end" : "middle"}
            >
              {count(frames)}
            </text>
          </g>
        ))}
        {names.map(({ member, y }) => (
          <text key={member} class="lane" x={0} y={y} font-size={Math.min(12, lane - 2)}>
            {member}
          </text>
        ))}
        {lines.map(({ key, x1, x2, y, colour, pale, bold }) => (
          <line
            key={key}
            class={`stroke-${colour} ${bold ? "bold" : pale ? "pale" : "plain"}`}
            x1={x1}
            x2={x2}
            y1={y}
            y2={y}
          />
        ))}
        {arcs.map((arc) => (
          <Curve key={`${arc.copy.to} ${arc.copy.round}`} arc={arc} lane={lane} />
        ))}
      </>
    );
  }, [picture]);
}

function Curve({ arc, lane, chosen = false }: { arc: Arc; lane: number; chosen?: boolean }) {
  const kind = chosen ? "chosen" : arc.bold ? "bold" : arc.pale ? "pale" : "plain";
  return (
    <g class={`arc stroke-${arc.colour} ${kind}`}>
      <path d={arc.path} />
      <circle cx={arc.x} cy={arc.y} r={Math.max(2.5, Math.min(5, lane / 4)) + Number(chosen)} />
    </g>
  );
}

/** Returns the width of an element in pixels. */
function useWidth(box: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const resized = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 600));
    if (box.current) resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  return width;
}
