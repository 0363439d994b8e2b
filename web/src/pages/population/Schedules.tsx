/**
 * `Schedules` is the tab that shows how PBT changed every hyperparameter: one chart each, with
 * rings where a member copied another.
 */
import type { Got } from "../../api/client";
import { useGet } from "../../api/useGet";
import { count } from "../../format";
import { Chart } from "../../ui/Chart";
import { Downloads } from "../../ui/Downloads";
import { Figure } from "../../ui/Figure";
import type { Line } from "../../ui/lines";
import { Empty, Shown } from "../../ui/state";
import { type Column, Table } from "../../ui/table";

type History = Got<"/v1/populations/{name}/hyperparameters">;
type Point = History["members"][string][number];
type Round = Point & { member: string };

const ROUNDS: readonly Column<Round>[] = [
  { name: "member", value: (row) => row.member },
  { name: "round", value: (row) => row.round, numeric: true },
  { name: "frames", value: (row) => row.frames, show: (row) => count(row.frames), numeric: true },
  {
    name: "copied from",
    value: (row) => row.copied_from,
    show: (row) => row.copied_from ?? "none",
  },
  {
    name: "mutated",
    value: (row) => row.mutated.join(" "),
    show: (row) => row.mutated.join(", ") || "nothing",
  },
  { name: "why", value: (row) => row.verdict, wide: true },
];

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
        const rounds = roundsOf(history);
        return keys.length === 0 ? (
          <Empty title="No hyperparameters yet" />
        ) : (
          <>
            <div class="figures">
              {keys.map((key) => {
                const lines = linesOf(history, key, now);
                const points = lines.flatMap((line) =>
                  line.x.map((x, index) => ({
                    member: line.name,
                    frames: x,
                    value: line.y[index] ?? null,
                  })),
                );
                const columns: readonly Column<(typeof points)[number]>[] = [
                  { name: "member", value: (row) => row.member },
                  { name: "frames", value: (row) => row.frames, numeric: true },
                  {
                    name: key,
                    value: (row) => row.value,
                    numeric: true,
                    why: "it was not set then",
                  },
                ];
                const positive = points.every((point) => point.value !== null && point.value > 0);
                return (
                  <Figure key={key} title={key} columns={columns} rows={points}>
                    <Chart
                      label={key}
                      lines={lines}
                      log={positive && spread(points.map((point) => point.value!))}
                      height={180}
                    />
                  </Figure>
                );
              })}
            </div>
            <h2>Rounds</h2>
            {rounds.length ? (
              <>
                <Downloads name={`rounds of ${name}`} columns={ROUNDS} rows={rounds} />
                <Table label="Rounds" columns={ROUNDS} rows={rounds} cards />
              </>
            ) : (
              <Empty title="No rounds yet">
                <p>The first one comes after the warm-up, when every member has enough games.</p>
              </Empty>
            )}
          </>
        );
      }}
    </Shown>
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
  return Object.keys(history.start).map((member, colour) => {
    const points = (history.members[member] ?? []).filter(
      (point) => point.values[key] !== undefined,
    );
    const x = [0, ...points.map((point) => point.frames)];
    const y: (number | null)[] = [
      history.start[member]![key] ?? null,
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

/** Tells whether values differ so much that ratios say more than differences. */
function spread(values: readonly number[]): boolean {
  return Math.max(...values) / Math.min(...values) > 4;
}
