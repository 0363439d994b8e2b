/** `Chart` draws lines over frames, or over another x, when it comes into view. */
import { effect } from "@preact/signals";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { count, decimal } from "../format";
import { note, noted, query, setQuery } from "../address";
import { dash } from "./colours";
import { Legend, LegendOfMany } from "./Legend";
import { type Line, same, valueAt } from "./lines";
import { PicturedBy } from "./pictured";
import { type Front, join, optionsOf, summed } from "./plot";
import { pointedName } from "./pointed";
import { narrow, wide } from "./screen";
import { extremes, frontColours, MANY_LINES, offsetsOf, summaryOf } from "./summary";
import { dark } from "./theme";
import { type Zoom, zoomFrom, zoomOf, zoomText } from "./zoom";

interface Props {
  label: string;
  /** The name of the chart in the address, where the label changes. */
  place?: string;
  lines: readonly Line[];
  /**
   * The lines are alike, such as members of a population. Of many the median is shown, with single
   * ones before it: the two that this names, which are the highest and the lowest at their ends,
   * and those that a person chose.
   */
  alike?: readonly [highest: string, lowest: string];
  format?: (value: number) => string;
  log?: boolean;
  height?: number;
  range?: [number, number];
  /** What x counts. */
  unit?: string;
  formatX?: (x: number) => string;
}

const NOTHING: Front = { lines: [], offsets: [], named: [], chosen: new Set(), pointed: null };

/** By so much a chart is lower on a phone, and higher on a large screen. */
const NARROW = 0.8;
const WIDE = 1.5;

/** The parameter of the address that names lines in front, in all charts of a view. */
const IN_FRONT = "line";

export function Chart({
  label,
  place = label,
  lines,
  alike,
  format = decimal,
  log = false,
  height: asked = 220,
  range,
  unit = "frames",
  formatX = count,
}: Props) {
  const height = Math.round(asked * (narrow.value ? NARROW : wide.value ? WIDE : 1));
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(
    () => new Set(noted("hide", `${place}/`)),
  );
  const [at, setAt] = useState<number | null>(null);
  const seen = useSeen(box);
  const together = alike !== undefined && lines.length > MANY_LINES;
  const shown = useMemo(
    () => (together ? lines : lines.filter((line) => !hidden.has(line.name))),
    [lines, hidden, together],
  );
  const kept = useRef(shown);
  if (!same(kept.current, shown)) kept.current = shown;
  const chosen = new Set(together ? query.value.getAll(IN_FRONT) : []);
  const front = useRef<Front>(NOTHING);
  const summary = useMemo(
    () => (seen && together ? summaryOf(kept.current, chosen) : null),
    [kept.current, seen, together, [...chosen].join()],
  );
  const drawn = useMemo(
    () => (summary ? summed(summary) : seen ? join(kept.current) : [[]]),
    [kept.current, seen, summary],
  );
  const offsets = useMemo(
    () => (together ? [] : offsetsOf(kept.current)),
    [kept.current, together],
  );
  const ends = useMemo(
    () => endsOf(kept.current, together ? alike : undefined),
    [kept.current, together],
  );
  const shownAs = together
    ? frontColours(
        kept.current,
        ends.map(([, line]) => line),
        [...chosen],
      )
    : kept.current;
  const named = shownAs.filter(
    ({ name }) => chosen.has(name) || ends.some(([, line]) => line.name === name),
  );
  const byName = useRef((_: string | null): Line | null => null);
  byName.current = (name) => shownAs.find((line) => line.name === name) ?? null;
  const pointed = byName.current(pointedName.peek());
  front.current = { lines: shownAs, offsets, named, chosen, pointed };
  const pointing = useRef(false);
  const pictured = useContext(PicturedBy);
  pictured.shown = () =>
    plot.current && {
      lines: shownAs,
      summary,
      named: together ? named : shownAs,
      ...ranges(plot.current),
      log,
      unit,
      format,
      formatX,
      dash,
    };
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
      together,
      front: () => front.current,
      format,
      formatX,
      log,
      height,
      ...(range && { range }),
      width: element.clientWidth,
      point: (x: number | null, line: Line | null) => {
        setAt(x);
        // New data end here, too, while a person may point at a name or at another chart.
        if (line || pointing.current) pointedName.value = line?.name ?? null;
        pointing.current = line !== null;
      },
      zoomed,
    };
    const made = new uPlot(optionsOf(options), drawn as uPlot.AlignedData, element);
    if (zoom.current?.unit === unit) made.setScale("x", zoom.current);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    const forget = effect(() => {
      const pointed = byName.current(pointedName.value);
      if (pointed === front.current.pointed) return;
      front.current = { ...front.current, pointed };
      made.redraw(false, false);
    });
    return () => {
      forget();
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
    together,
    JSON.stringify(together ? [] : shown.map((line) => [line.name, line.colour, !!line.low])),
  ]);
  useLayoutEffect(() => {
    const made = plot.current;
    if (!made || made.data === drawn) return;
    const part = zoom.current?.unit === unit ? zoom.current : null;
    made.setData(drawn as uPlot.AlignedData, part === null);
    if (part) made.setScale("x", part);
  }, [drawn]);
  useLayoutEffect(() => {
    plot.current?.redraw(false, false);
  }, [named.map(({ name }) => name).join()]);

  const flip = (name: string) => {
    const now = hidden.has(name) ? [...hidden].filter((one) => one !== name) : [...hidden, name];
    note("hide", `${place}/`, now);
    setHidden(new Set(now));
  };
  const choose = (name: string) =>
    setQuery({
      [IN_FRONT]: chosen.has(name) ? [...chosen].filter((one) => one !== name) : [...chosen, name],
    });
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
      {together ? (
        <LegendOfMany
          lines={shownAs}
          ends={ends.map(([what, { name }]) => [what, byName.current(name)!] as const)}
          chosen={chosen}
          flip={choose}
          textAt={textAt}
          middle={at !== null && summary ? middleAt(summary, at, format) : ""}
        />
      ) : (
        lines.length > 1 && <Legend lines={lines} hidden={hidden} flip={flip} textAt={textAt} />
      )}
    </>
  );
}

/** Returns the parts of both axes that are shown. */
function ranges({ scales }: uPlot): { x: [number, number]; y: [number, number] } {
  const of = (scale: uPlot.Scale | undefined): [number, number] => [
    scale?.min ?? 0,
    scale?.max ?? 1,
  ];
  return { x: of(scales["x"]), y: of(scales["y"]) };
}

/** Returns the highest and the lowest line with what they are called; none where none is asked. */
function endsOf(
  lines: readonly Line[],
  called: readonly [string, string] | undefined,
): (readonly [string, Line])[] {
  const found = called && extremes(lines);
  if (!found) return [];
  const of = (name: string) => lines.find((line) => line.name === name)!;
  return [
    [called[0], of(found.highest)],
    [called[1], of(found.lowest)],
  ];
}

/** Returns the median at x, as a line would tell its value. */
function middleAt(
  { x, median }: { x: number[]; median: (number | null)[] },
  at: number,
  format: (value: number) => string,
): string {
  return valueAt({ name: "", colour: 0, x, y: median }, at, format);
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
