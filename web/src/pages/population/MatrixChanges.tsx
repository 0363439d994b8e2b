/** `Changes` shows which members improved between two moments, against which others, and how surely. */
import { useMemo, useState } from "preact/hooks";
import { query, setQuery } from "../../address";
import type { Got } from "../../api/client";
import { useGet } from "../../api/useGet";
import { count } from "../../format";
import {
  bothChanged,
  type Changed,
  changeText,
  named,
  place,
  scaleOf,
  shade,
  together,
  valued,
} from "../../pairs";
import { Figure } from "../../ui/Figure";
import { Matrix } from "../../ui/Matrix";
import { Empty, Shown } from "../../ui/state";
import type { Column } from "../../ui/table";
import { Value } from "../../ui/value";
import { Frames, recentOf } from "./Moments";

type Report = Got<"/v1/populations/{name}/win-rates/changes">;

const TITLE = "Which members improved";
const MOST_TOLD = 5;
/** Games that give a square its full colour. */
const FULL = 100;
const NO_INTERVAL = "its games give no interval";

function columnsOf(objective: Report["objective"]): readonly Column<Changed>[] {
  const { format } = valued(objective);
  const change = (key: "difference" | "low" | "high"): Column<Changed> => ({
    name: key,
    value: (row) => row[key],
    show: (row) => <Value of={row[key]} format={valued(objective).change} why={NO_INTERVAL} />,
    numeric: true,
  });
  const moment = (key: "before" | "after"): readonly Column<Changed>[] => [
    {
      name: key,
      value: (row) => row[key].value,
      show: (row) => format(row[key].value),
      numeric: true,
    },
    { name: `games ${key}`, value: (row) => row[key].games, numeric: true },
  ];
  return [
    { name: "player", value: (row) => row.player },
    { name: valued(objective).other, value: (row) => row.opponent },
    ...moment("before"),
    ...moment("after"),
    change("difference"),
    change("low"),
    change("high"),
    { name: "sure", value: (row) => row.sure, show: (row) => (row.sure ? "sure" : "") },
  ];
}

/** With more members than this the changes are folded, so that the page stays short. */
const MANY = 24;

interface ChangesOf {
  name: string;
  everyMs: number;
}

export function Changes({ name, everyMs }: ChangesOf) {
  const matrix = useGet(
    "/v1/populations/{name}/win-rates/matrix",
    { path: { name }, query: { recent: recentOf() } },
    { everyMs, population: name, keep: true },
  );
  const asked = numberOf("from") !== null || numberOf("to") !== null;
  const [open, setOpen] = useState(asked);
  if (!matrix.value || matrix.value.newest_frames === 0) return null;
  const between = <Between name={name} everyMs={everyMs} newest={matrix.value.newest_frames} />;
  if (matrix.value.sides.length <= MANY) return between;
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{TITLE}</summary>
      {open && between}
    </details>
  );
}

/** Shows the changes between two moments, which the address holds; else of the newer half. */
function Between({ name, everyMs, newest }: ChangesOf & { newest: number }) {
  const to = numberOf("to");
  const last = Math.min(to ?? newest, newest);
  const first = Math.max(0, Math.min(numberOf("from") ?? Math.floor(newest / 2), last - 1));
  const found = useGet(
    "/v1/populations/{name}/win-rates/changes",
    { path: { name }, query: { first, last: to === null ? undefined : last, recent: recentOf() } },
    { everyMs, population: name, keep: true },
  );
  return (
    <>
      <div class="choices">
        <Frames
          title="From"
          value={first}
          newest={newest}
          change={(frames) => setQuery({ from: String(Math.min(frames, last - 1)) })}
        />
        <Frames
          title="to"
          value={last}
          newest={newest}
          change={(frames) =>
            setQuery({ to: frames >= newest ? undefined : String(Math.max(frames, first + 1)) })
          }
          text={to === null ? `now, ${count(newest)}` : count(last)}
        />
      </div>
      <Shown query={found} what="changes">
        {(report) => <ChangeFigure report={report} />}
      </Shown>
    </>
  );
}

/** Returns a number of frames of the address. */
function numberOf(key: string): number | null {
  const text = query.value.get(key);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function ChangeFigure({ report }: { report: Report }) {
  const { objective, pairs, sides } = report;
  const find = query.value.get("find") ?? "";
  const role = query.value.get("role");
  const names = useMemo(() => {
    const listed = sides.filter((side) => !role || side.role === null || side.role === role);
    return named(
      listed.map((side) => side.name),
      find,
    );
  }, [sides, find, role]);
  const known = useMemo(() => bothChanged(objective, pairs), [report]);
  const square = useMemo(() => {
    const [, most] = scaleOf(
      "margin",
      pairs.map((one) => one.difference),
    );
    return (row: string, column: string) => {
      const one = known.get(place(row, column));
      if (!one) return undefined;
      const text =
        objective === "win"
          ? String(Math.round(100 * one.difference))
          : valued(objective).square(one.difference);
      return {
        shade: shade(one.difference, [-most, most]),
        games: one.sure ? FULL : 0,
        text: text.replace("-", "−"),
        marked: one.sure,
      };
    };
  }, [report]);
  const span = `from ${count(report.first)} to ${count(report.last)} frames`;
  if (pairs.length === 0)
    return (
      <Empty title={`${TITLE}: no two had met at both moments`}>
        <p>Choose other moments, or more newest snapshots of each member.</p>
      </Empty>
    );
  const write = valued(objective).change;
  const [, most] = scaleOf(
    "margin",
    pairs.map((one) => one.difference),
  );
  return (
    <Figure
      title={TITLE}
      note={
        `How much more the row gets of the column, ${span}: blue for more, orange for less. ` +
        "Both are as they were; players that do not learn show what a member gained by itself."
      }
      columns={columnsOf(objective)}
      rows={pairs}
    >
      <Sure report={report} known={known} />
      <Matrix
        names={names}
        label={`Matrix of the changes of ${names.length} players`}
        hint="Point at a square, or move with the arrow keys: how much better the row got."
        legend={{
          low: write(-most),
          middle: "no change",
          high: write(most),
          note: "full colour and a dot where the change is sure, pale where it is not",
        }}
        square={square}
        told={(row, column) => {
          const one = known.get(place(row, column));
          if (!one)
            return `${together([row, column], objective)}: they had not met at both moments`;
          const sure = one.sure ? "surely changed" : "not sure";
          return `${row} ${valued(objective).verb} ${column}: ${changeText(objective, one)}, ${sure}`;
        }}
      />
    </Figure>
  );
}

/** Says in words which changes are sure: the largest ones, from the side that improved. */
function Sure({ report, known }: { report: Report; known: ReadonlyMap<string, Changed> }) {
  const { objective, pairs } = report;
  const met = new Set(pairs);
  const sure = [...known.values()]
    .filter((one) => one.sure && (objective === "return" ? met.has(one) : one.difference > 0))
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
  if (!sure.length)
    return (
      <p class="note">
        None of the {pairs.length} changes is sure, with at most 5 % chance of even one wrong claim.
      </p>
    );
  return (
    <>
      <p>
        <strong>{sure.length}</strong> of {pairs.length} changed surely:
      </p>
      <ul class="circles">
        {sure.slice(0, MOST_TOLD).map((one) => (
          <li key={place(one.player, one.opponent)}>
            <strong>{one.player}</strong> {valued(objective).verb} {one.opponent}:{" "}
            {changeText(objective, one)}
          </li>
        ))}
        {sure.length > MOST_TOLD && <li>and {sure.length - MOST_TOLD} more, in the numbers</li>}
      </ul>
    </>
  );
}
