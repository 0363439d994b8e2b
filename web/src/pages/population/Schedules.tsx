/**
 * `Schedules` is the tab that shows how PBT changed each hyperparameter: one chart each, with rings
 * where a member copied another, which values the strongest members share, and a card for each
 * round.
 */
import { useMemo } from "preact/hooks";
import { useGet } from "../../api/useGet";
import { Chart } from "../../ui/Chart";
import { Downloads } from "../../ui/Downloads";
import { Figure } from "../../ui/Figure";
import type { Line } from "../../ui/lines";
import { Empty, Shown } from "../../ui/state";
import { MANY_LINES } from "../../ui/summary";
import type { Column } from "../../ui/table";
import { type History, membersOf, type Point, roundNumbers } from "./history";
import { SteadyValues, steadyValue } from "../SteadyValues";
import { RoundCards } from "./RoundCards";
import { Winners } from "./Winners";

type Round = Point & { member: string };

const ROUNDS: readonly Column<Round>[] = [
  { name: "member", value: (row) => row.member },
  { name: "round", value: (row) => row.round },
  { name: "frames", value: (row) => row.frames },
  { name: "copied from", value: (row) => row.copied_from },
  { name: "at frames", value: (row) => row.donor_frames },
  { name: "mutated", value: (row) => row.mutated.join(" ") },
  { name: "why", value: (row) => row.verdict },
];

interface Value {
  member: string;
  frames: number;
  value: number | null;
}

export function Schedules({ name, everyMs }: { name: string; everyMs: number }) {
  const found = useGet(
    "/v1/populations/{name}/hyperparameters",
    { path: { name } },
    { everyMs, population: name },
  );
  const members = useGet(
    "/v1/populations/{name}",
    { path: { name } },
    { everyMs, population: name },
  );
  const now = new Map((members.value?.status.members ?? []).map((one) => [one.name, one.frames]));
  return (
    <Shown query={found} what="hyperparameters">
      {(history) => {
        const keys = [...new Set(Object.values(history.start).flatMap(Object.keys))].sort();
        const steady = keys.flatMap((key) => {
          const value = steadyValue(valuesOf(history, key));
          return value === null ? [] : [[key, value] as const];
        });
        const moved = keys.filter((key) => !steady.some(([name]) => name === key));
        return keys.length === 0 ? (
          <Empty title="No hyperparameters yet" />
        ) : (
          <>
            {moved.length > 0 && (
              <p class="note">
                {RINGS}
                {membersOf(history).length > MANY_LINES ? MANY : FEW}
              </p>
            )}
            <SteadyValues of={steady} />
            <div class="figures">
              {moved.map((key) => (
                <Schedule key={key} name={key} history={history} now={now} />
              ))}
            </div>
            <Winners population={name} history={history} everyMs={everyMs} />
            <Rounds name={name} history={history} />
          </>
        );
      }}
    </Shown>
  );
}

function Schedule({
  name,
  history,
  now,
}: {
  name: string;
  history: History;
  now: ReadonlyMap<string, number>;
}) {
  const lines = useMemo(
    () => linesOf(history, name, now),
    [history, name, [...now.values()].join()],
  );
  const columns: readonly Column<Value>[] = [
    { name: "member", value: (row) => row.member },
    { name: "frames", value: (row) => row.frames, numeric: true },
    { name, value: (row) => row.value, numeric: true, why: "it was not set then" },
  ];
  const values = lines.flatMap((line) => line.y);
  const log = values.every((value) => value !== null && value > 0) && spread(values);
  return (
    <Figure title={name} columns={columns} rows={() => rowsOf(lines)}>
      <Chart label={name} lines={lines} alike={["highest", "lowest"]} log={log} height={180} />
    </Figure>
  );
}

const RINGS = "A ring is where a member copied another one's weights and values. ";
const MANY = "Point at a line, or choose one below a chart, to see it in front in all of them.";
const FEW = "Lines with the same value are drawn beside each other.";

function rowsOf(lines: readonly Line[]): Value[] {
  return lines.flatMap((line) =>
    line.x.map((frames, index) => ({ member: line.name, frames, value: line.y[index] ?? null })),
  );
}

function Rounds({ name, history }: { name: string; history: History }) {
  const rounds = roundNumbers(history);
  return (
    <>
      <h2>Rounds</h2>
      {rounds.length ? (
        <>
          <Downloads name={`rounds of ${name}`} columns={ROUNDS} rows={roundsOf(history)} />
          <RoundCards population={name} rounds={rounds} />
        </>
      ) : (
        <Empty title="No rounds yet">
          <p>The first one comes after the warm-up, when every member has enough games.</p>
        </Empty>
      )}
    </>
  );
}

/** Returns all rounds of all members, newest first. */
export function roundsOf(history: History): Round[] {
  const rows = Object.entries(history.members).flatMap(([member, points]) =>
    points.map((point) => ({ ...point, member })),
  );
  return rows.sort((a, b) => b.frames - a.frames || a.member.localeCompare(b.member));
}

/**
 * Returns one line per member.
 * now: frames of each member at this moment, up to which its last values hold
 */
export function linesOf(history: History, key: string, now: ReadonlyMap<string, number>): Line[] {
  return membersOf(history).map((member, colour) => {
    const points = (history.members[member] ?? []).filter(
      (point) => point.values[key] !== undefined,
    );
    const x = [0, ...points.map((point) => point.frames)];
    const y: (number | null)[] = [
      history.start[member]?.[key] ?? null,
      ...points.map((point) => point.values[key]!),
    ];
    const until = now.get(member) ?? 0;
    if (until > x.at(-1)!) {
      x.push(until);
      y.push(y.at(-1)!);
    }
    const copies = points.filter((point) => point.copied_from !== null);
    const marks = copies.length
      ? { marks: copies.map((point) => ({ x: point.frames, y: point.values[key]! })) }
      : {};
    return { name: member, colour, x, y, steps: true, ...marks };
  });
}

/** Returns all values that a hyperparameter had, of all members. */
function valuesOf(history: History, key: string): (number | undefined)[] {
  return membersOf(history).flatMap((member) => [
    history.start[member]?.[key],
    ...(history.members[member] ?? []).map((point) => point.values[key]),
  ]);
}

/** Tells whether values differ so much that ratios say more than differences. */
function spread(values: readonly (number | null)[]): boolean {
  const known = values.flatMap((value) => value ?? []);
  return Math.max(...known) / Math.min(...known) > 4;
}
