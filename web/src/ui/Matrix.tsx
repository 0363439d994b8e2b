/**
 * `Matrix` draws a matrix: a square for every two names. All of them are on one canvas, since there
 * may be 200 x 200. Where squares are small their numbers stand in the line above alone.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { short } from "../format";
import { inkOn, scoreColour, token } from "./colours";
import { dark } from "./theme";

export { type Cell, cells } from "../pairs";

const MOST_PX = 46;
const LEAST_PX = 4;
/** A square of this size has room for a number, one of the next for a mark. */
const TEXT_PX = 30;
const MARK_PX = 9;
const LABEL_PX = 88;
/** Below this size squares touch each other. */
const GAP_PX = 6;
const MATRIX_KEYS = "arrow keys move, the numbers stand below";
const LEGEND_STEPS = 11;
const CERTAIN = 1000;

export interface Square {
  /** From 0 (orange) over 0.5 to 1 (blue). */
  shade: number;
  /** A square with few games is pale; from 39 on it has its full colour. */
  games: number;
  /** What it has room for. */
  text: string;
  /** It has a mark. */
  marked?: boolean;
}

/** What the colours of a matrix mean. */
export interface Legend {
  low: string;
  middle: string;
  high: string;
  /** What else is to be known: what pale squares, empty ones and marks are. */
  note: string;
}

interface MatrixOf {
  names: readonly string[];
  label: string;
  /** What is read before any square was pointed at. */
  hint: string;
  legend: Legend;
  square: (row: string, column: string) => Square | undefined;
  /** Says in words what a square shows. */
  told: (row: string, column: string) => string;
  /** Called with the names of a square that was chosen, whether or not they have met. */
  open?: (row: string, column: string) => void;
}

type Place = readonly [row: number, column: number];

export function Matrix({ names, label, hint, legend, square, told, open }: MatrixOf) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<Place | null>(null);
  const last = names.length - 1;
  const size = sizeOf(width, names.length);
  // A place of a longer list is none in a shorter one.
  const here = at && at[0] <= last && at[1] <= last ? at : null;

  useEffect(() => {
    const resized = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    if (box.current) resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width) draw(canvas.current, names, square, size);
  }, [names, square, size, width > 0, dark.value]);

  const place = (event: MouseEvent): Place | null => {
    const row = Math.floor((event.offsetY - LABEL_PX) / size);
    const column = Math.floor((event.offsetX - LABEL_PX) / size);
    return row >= 0 && column >= 0 && row <= last && column <= last ? [row, column] : null;
  };
  const choose = (chosen: Place | null) => {
    if (chosen && chosen[0] !== chosen[1]) open?.(names[chosen[0]]!, names[chosen[1]]!);
  };
  const press = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step) {
      event.preventDefault();
      const within = (index: number) => Math.min(last, Math.max(0, index));
      setAt(here ? [within(here[0] + step[0]), within(here[1] + step[1])] : [0, 0]);
    } else if (event.key === "Enter") choose(here);
  };
  return (
    <div ref={box}>
      <p class="under" aria-live="polite">
        {here ? told(names[here[0]]!, names[here[1]]!) : hint}
      </p>
      <div class="scroll">
        <div class="matrix-box">
          <canvas
            ref={canvas}
            class={open ? "matrix opens" : "matrix"}
            tabIndex={0}
            role="img"
            aria-label={`${label}; ${MATRIX_KEYS}`}
            onMouseMove={(event) => setAt(place(event))}
            onMouseLeave={() => setAt(null)}
            onClick={(event) => choose(place(event))}
            onKeyDown={press}
          />
          {here && <Pointed at={here} size={size} names={names} />}
        </div>
      </div>
      <Colours legend={legend} />
    </div>
  );
}

const STEPS: Readonly<Record<string, Place>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Returns the side of a square in pixels. */
export function sizeOf(width: number, names: number): number {
  const room = Math.floor((width - LABEL_PX) / Math.max(1, names));
  return Math.max(LEAST_PX, Math.min(MOST_PX, room));
}

/** Marks a square with its row and its column, above the canvas, which stays as it is. */
function Pointed({ at, size, names }: { at: Place; size: number; names: readonly string[] }) {
  const [row, column] = at;
  const side = size * names.length;
  const px = (value: number) => `${value}px`;
  const start = (index: number) => px(LABEL_PX + index * size);
  return (
    <div aria-hidden="true">
      <i
        class="beam"
        style={{ left: px(LABEL_PX), top: start(row), width: px(side), height: px(size) }}
      />
      <i
        class="beam"
        style={{ top: px(LABEL_PX), left: start(column), height: px(side), width: px(size) }}
      />
      <i
        class="pointed"
        style={{ left: start(column), top: start(row), width: px(size), height: px(size) }}
      />
      {size < 13 && (
        <>
          <b
            class="row-name"
            style={{ top: px(LABEL_PX + row * size + size / 2), width: px(LABEL_PX - 4) }}
          >
            {short(names[row]!)}
          </b>
          <b class="column-name" style={{ left: px(LABEL_PX + column * size + size / 2) }}>
            {short(names[column]!)}
          </b>
        </>
      )}
    </div>
  );
}

/** Says what the colours mean. */
function Colours({ legend }: { legend: Legend }) {
  const steps = useMemo(
    () =>
      Array.from({ length: LEGEND_STEPS }, (_, step) =>
        scoreColour(step / (LEGEND_STEPS - 1), CERTAIN, dark.value),
      ),
    [dark.value],
  );
  return (
    <p class="colours">
      <span>{legend.low}</span>
      <span class="steps" aria-hidden="true">
        {steps.map((colour) => (
          <i key={colour} style={{ background: colour }} />
        ))}
      </span>
      <span>{legend.high}</span>
      <small>
        in the middle {legend.middle}; {legend.note}
      </small>
    </p>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  names: readonly string[],
  square: MatrixOf["square"],
  size: number,
): void {
  const side = LABEL_PX + size * names.length + 1;
  const scale = devicePixelRatio;
  canvas.width = canvas.height = side * scale;
  canvas.style.width = canvas.style.height = `${side}px`;
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  pen.textBaseline = "middle";
  labels(pen, names, size);
  pen.textAlign = "center";
  pen.font = "11px system-ui, sans-serif";
  const drawn = size < GAP_PX ? size : size - 1;
  const marks = token("ink");
  names.forEach((row, y) =>
    names.forEach((column, x) => {
      const cell = square(row, column);
      if (!cell) return;
      const colour = scoreColour(cell.shade, cell.games, dark.value);
      const [left, top] = [LABEL_PX + x * size, LABEL_PX + y * size];
      pen.fillStyle = colour;
      pen.fillRect(left, top, drawn, drawn);
      if (size >= TEXT_PX) {
        pen.fillStyle = inkOn(colour);
        pen.fillText(cell.text, left + size / 2, top + size / 2);
      }
      if (cell.marked && size >= MARK_PX) {
        pen.fillStyle = size >= TEXT_PX ? inkOn(colour) : marks;
        const [radius, inside] = size >= TEXT_PX ? [2.5, 6] : [size / 6, size / 2];
        pen.beginPath();
        pen.arc(left + drawn - inside, top + inside, radius, 0, 2 * Math.PI);
        pen.fill();
      }
    }),
  );
}

function labels(pen: CanvasRenderingContext2D, names: readonly string[], size: number): void {
  const every = Math.max(1, Math.ceil(13 / size));
  pen.fillStyle = token("ink-soft");
  pen.font = "12px system-ui, sans-serif";
  names.forEach((name, index) => {
    if (index % every) return;
    const middle = LABEL_PX + index * size + size / 2;
    const text = fitted(pen, short(name));
    pen.textAlign = "right";
    pen.fillText(text, LABEL_PX - 6, middle);
    pen.save();
    pen.translate(middle, LABEL_PX - 6);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "left";
    pen.fillText(text, 0, 0);
    pen.restore();
  });
}

function fitted(pen: CanvasRenderingContext2D, text: string): string {
  if (pen.measureText(text).width <= LABEL_PX - 8) return text;
  let cut = text.length;
  while (cut > 1 && pen.measureText(`${text.slice(0, cut)}…`).width > LABEL_PX - 8) cut -= 1;
  return `${text.slice(0, cut)}…`;
}
