/**
 * `Lineage` is the tab that shows where weights come from: a lane for every member, an arc for
 * every copy.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Got } from "../../api/client";
import { useGet } from "../../api/useGet";
import { count } from "../../format";
import { dash } from "../../ui/colours";
import { Figure } from "../../ui/Figure";
import { Empty, Shown } from "../../ui/state";
import type { Column } from "../../ui/table";

type History = Got<"/v1/populations/{name}/hyperparameters">;

export interface Copy {
  from: string;
  to: string;
  frames: number;
  round: number;
  verdict: string;
}

const ARCS =
  "Each arc is a copy: from the winner's lane to the member that took its weights and values.";

const COLUMNS: readonly Column<Copy>[] = [
  { name: "frames", value: (row) => row.frames, numeric: true },
  { name: "member", value: (row) => row.to },
  { name: "copied", value: (row) => row.from },
  { name: "round", value: (row) => row.round, numeric: true },
  { name: "why", value: (row) => row.verdict, wide: true },
];

export function Lineage({ name, everyMs }: { name: string; everyMs: number }) {
  const found = useGet(
    "/v1/populations/{name}/hyperparameters",
    { path: { name } },
    { everyMs, population: name },
  );
  const body = useGet("/v1/populations/{name}", { path: { name } }, { everyMs, population: name });
  return (
    <Shown query={found} what="the lineage">
      {(history) => {
        const members = Object.keys(history.start);
        const copies = copiesOf(history);
        const now = Object.fromEntries(
          (body.value?.status.members ?? []).map((one) => [one.name, one.frames]),
        );
        return members.length === 0 ? (
          <Empty title="No members yet" />
        ) : (
          <Figure
            title="Which member took over whose weights"
            note={copies.length ? ARCS : "No member has copied another one yet."}
            columns={COLUMNS}
            rows={copies}
          >
            <Lanes members={members} copies={copies} now={now} />
          </Figure>
        );
      }}
    </Shown>
  );
}

/** Returns all copies, oldest first. */
export function copiesOf(history: History): Copy[] {
  const found = Object.entries(history.members).flatMap(([member, points]) =>
    points.flatMap((point) =>
      point.copied_from === null
        ? []
        : [
            {
              from: point.copied_from,
              to: member,
              frames: point.frames,
              round: point.round,
              verdict: point.verdict,
            },
          ],
    ),
  );
  return found.sort((a, b) => a.frames - b.frames);
}

const LANE = 34;
const LEFT = 52;
const RIGHT = 16;
const TICKS = 5;

function Lanes({
  members,
  copies,
  now,
}: {
  members: readonly string[];
  copies: readonly Copy[];
  now: Record<string, number>;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const resized = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 600));
    if (box.current) resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  const most = Math.max(1, ...Object.values(now), ...copies.map((copy) => copy.frames));
  const x = (frames: number) => LEFT + ((width - LEFT - RIGHT) * frames) / most;
  const y = (member: string) => LANE * (members.indexOf(member) + 0.5);
  const height = LANE * members.length + 24;
  const ticks = Array.from(
    { length: width < 400 ? 3 : TICKS },
    (_, index) => (most * index) / ((width < 400 ? 3 : TICKS) - 1),
  );
  return (
    <div ref={box} class="lineage">
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={`${members.length} members, ${copies.length} copies; the numbers stand below`}
      >
        {ticks.map((tick, index) => (
          <g key={tick}>
            <line class="axis" x1={x(tick)} x2={x(tick)} y1={0} y2={height - 22} />
            <text
              x={x(tick)}
              y={height - 6}
              text-anchor={index === 0 ? "start" : index === ticks.length - 1 ? "end" : "middle"}
            >
              {count(tick)}
            </text>
          </g>
        ))}
        {members.map((member, index) => (
          <g key={member}>
            <text x={0} y={y(member) + 4}>
              {member}
            </text>
            <line
              class={`stroke-${index % 8}`}
              stroke-dasharray={dash(index).join(" ")}
              x1={x(0)}
              x2={x(now[member] ?? most)}
              y1={y(member)}
              y2={y(member)}
            />
          </g>
        ))}
        {copies.map((copy) => {
          const [at, from, end] = [x(copy.frames), y(copy.from), y(copy.to)];
          const bend = Math.min(28, (at - LEFT) / 2);
          return (
            <g
              key={`${copy.to} ${copy.round}`}
              class={`stroke-${Math.max(0, members.indexOf(copy.from)) % 8}`}
            >
              <title>
                {`${copy.to} copied ${copy.from} at ${count(copy.frames)} frames: ${copy.verdict}`}
              </title>
              <path
                d={`M ${at - bend} ${from} C ${at} ${from}, ${at - bend} ${end}, ${at} ${end}`}
              />
              <circle cx={at} cy={end} r={5} />
            </g>
          );
        })}
      </svg>
    </div>
  );
}
