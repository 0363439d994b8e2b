/** `Legend` shows the names of the lines of a chart, and the values where the pointer is. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { dash } from "./colours";
import type { Line } from "./lines";
import { MANY_NAMES } from "./plot";
import { pointedName } from "./pointed";

interface Named {
  line: Line;
  /** What the line is, beside its name. */
  what?: string;
  pressed: boolean;
  press: () => void;
  text: string;
}

/** Shows the names of lines, each a button that hides its line. */
export function Legend({
  lines,
  hidden,
  flip,
  textAt,
}: {
  lines: readonly Line[];
  hidden: ReadonlySet<string>;
  flip: (name: string) => void;
  textAt: (line: Line) => string;
}) {
  const names = () =>
    lines.map((line) => (
      <Name
        key={line.name}
        line={line}
        pressed={!hidden.has(line.name)}
        press={() => flip(line.name)}
        text={textAt(line)}
      />
    ));
  if (lines.length <= MANY_NAMES) return <ul class="legend">{names()}</ul>;
  return <Folded title={`${lines.length} lines`} names={names} />;
}

/**
 * Shows what stands for many lines, and below it all their names, each a button that brings its
 * line to the front.
 * ends: what the highest and the lowest line are called
 */
export function LegendOfMany({
  lines,
  ends,
  chosen,
  flip,
  textAt,
  middle,
}: {
  lines: readonly Line[];
  ends: readonly (readonly [what: string, line: Line])[];
  chosen: ReadonlySet<string>;
  flip: (name: string) => void;
  textAt: (line: Line) => string;
  /** The median where the pointer is. */
  middle: string;
}) {
  const of = (line: Line, what?: string) => (
    <Name
      key={line.name}
      line={line}
      {...(what && { what })}
      pressed={chosen.has(line.name)}
      press={() => flip(line.name)}
      text={textAt(line)}
    />
  );
  const named = ends.map(([, line]) => line.name);
  return (
    <>
      <ul class="legend many">
        <li class="middle">
          <svg viewBox="0 0 24 8" aria-hidden="true">
            <rect width="24" height="8" />
            <line x1="0" x2="24" y1="4" y2="4" />
          </svg>
          median, middle half of {lines.length} <span class="number">{middle}</span>
        </li>
        {ends.map(([what, line]) => of(line, what))}
        {lines
          .filter(({ name }) => chosen.has(name) && !named.includes(name))
          .map((line) => of(line))}
      </ul>
      <Folded
        title={`Choose of ${lines.length} lines`}
        names={() => lines.map((line) => of(line))}
      />
    </>
  );
}

function Folded({ title, names }: { title: string; names: () => ComponentChildren }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && <ul class="legend many">{names()}</ul>}
    </details>
  );
}

/** Shows a line and its name. A line whose name has the focus or the pointer is in front. */
function Name({ line, what, pressed, press, text }: Named) {
  const point = () => {
    pointedName.value = line.name;
  };
  const leave = () => {
    pointedName.value = null;
  };
  return (
    <li>
      <button
        aria-pressed={pressed}
        onClick={press}
        onMouseEnter={point}
        onMouseLeave={leave}
        onFocus={point}
        onBlur={leave}
      >
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
        {what && <span class="note">{what}</span>}
        {line.name}
        <span class="number">{text}</span>
      </button>
    </li>
  );
}
