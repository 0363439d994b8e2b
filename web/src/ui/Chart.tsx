/** `Chart` draws lines over frames, or over another x, when it comes into view. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { count, decimal } from "../format";
import { note, noted } from "../address";
import { dash } from "./colours";
import { type Line, same, valueAt } from "./lines";
import { join, MANY_LINES, optionsOf } from "./plot";
import { dark } from "./theme";
import { type Zoom, zoomFrom, zoomOf, zoomText } from "./zoom";

interface Props {
  label: string;
  /** The name of the chart in the address, where the label changes. */
  place?: string;
  lines: readonly Line[];
  format?: (value: number) => string;
  log?: boolean;
  height?: number;
  range?: [number, number];
  /** What x counts. */
  unit?: string;
  formatX?: (x: number) => string;
}

export function Chart({
  label,
  place = label,
  lines,
  format = decimal,
  log = false,
  height = 220,
  range,
  unit = "frames",
  formatX = count,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(
    () => new Set(noted("hide", `${place}/`)),
  );
  const [at, setAt] = useState<number | null>(null);
  const seen = useSeen(box);
  const shown = useMemo(() => lines.filter((line) => !hidden.has(line.name)), [lines, hidden]);
  const kept = useRef(shown);
  if (!same(kept.current, shown)) kept.current = shown;
  const drawn = useMemo(() => (seen ? join(kept.current) : [[]]), [kept.current, seen]);
  const zoom = useRef<Zoom | null | undefined>(undefined);
  if (zoom.current === undefined)
    zoom.current = zoomFrom(noted("zoom", `${place}/${unit}/`)[0], unit);

  // The chart is drawn in the same frame as the words around it, so they never disagree.
  useLayoutEffect(() => {
    if (!seen || !box.current) return;
    const element = box.current;
    const zoomed = (of: uPlot) => {
      // uPlot calls this a moment later. Another view, with an address of its own, may be shown by
      // then.
      if (plot.current !== of || !of.data[0]?.length) return;
      zoom.current = zoomOf(of, unit);
      note("zoom", `${place}/${unit}/`, zoom.current ? [zoomText(zoom.current)] : []);
    };
    const options = {
      lines: shown,
      format,
      formatX,
      log,
      height,
      ...(range && { range }),
      width: element.clientWidth,
      point: setAt,
      zoomed,
    };
    const made = new uPlot(optionsOf(options), drawn as uPlot.AlignedData, element);
    if (zoom.current?.unit === unit) made.setScale("x", zoom.current);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
    // New points of the same lines are given to the same chart below.
  }, [
    seen,
    dark.value,
    log,
    height,
    unit,
    JSON.stringify(shown.map((line) => [line.name, line.colour, !!line.low, !!line.marks])),
  ]);
  useLayoutEffect(() => {
    const made = plot.current;
    if (!made || made.data === drawn) return;
    const chosen = zoom.current?.unit === unit ? zoom.current : null;
    made.setData(drawn as uPlot.AlignedData, chosen === null);
    if (chosen) made.setScale("x", chosen);
  }, [drawn]);

  const flip = (name: string) => {
    const now = hidden.has(name) ? [...hidden].filter((one) => one !== name) : [...hidden, name];
    note("hide", `${place}/`, now);
    setHidden(new Set(now));
  };
  const textAt = (line: Line) => (at === null ? "" : valueAt(line, at, format));
  return (
    <>
      <div
        ref={box}
        class="chart"
        style={{ minHeight: `${height}px` }}
        role="img"
        aria-label={`${label}; the numbers stand below`}
      />
      <p class="under" aria-hidden="true">
        {at === null
          ? `${unit} →`
          : `at ${formatX(at)} ${unit}${lines.length === 1 ? `: ${textAt(lines[0]!)}` : ""}`}
      </p>
      {lines.length > 1 && <Legend lines={lines} hidden={hidden} flip={flip} textAt={textAt} />}
    </>
  );
}

interface LegendOf {
  lines: readonly Line[];
  hidden: ReadonlySet<string>;
  flip: (name: string) => void;
  textAt: (line: Line) => string;
}

/**
 * Shows the names of the lines, each a button that hides its line. Beside them stand the values
 * where the pointer is.
 */
function Legend({ lines, hidden, flip, textAt }: LegendOf) {
  const [open, setOpen] = useState(false);
  const names = (
    <ul class="legend">
      {lines.map((line) => (
        <li key={line.name}>
          <button aria-pressed={!hidden.has(line.name)} onClick={() => flip(line.name)}>
            <svg viewBox="0 0 24 8" aria-hidden="true">
              <line
                x1="0"
                x2="24"
                y1="4"
                y2="4"
                class={`stroke-${line.colour % 8}`}
                stroke-dasharray={dash(line.colour).join(" ")}
              />
            </svg>
            {line.name}
            <span class="number">{textAt(line)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
  if (lines.length <= MANY_LINES) return names;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{lines.length} lines</summary>
      {open && names}
    </details>
  );
}

/** Returns true once the element has come near the part of the page that is seen. */
function useSeen(box: { current: HTMLElement | null }): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watcher = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true),
      { rootMargin: "300px" },
    );
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return seen;
}
