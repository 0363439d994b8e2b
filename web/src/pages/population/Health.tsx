/**
 * `Health` is the tab that shows how a training is: what is wrong, where its time and its rows go,
 * how fast it is, and how old its policies are when it learns.
 */
import type { Got } from "../../api/client";
import { OFTEN_MS, useGet } from "../../api/useGet";
import { count, duration, percent } from "../../format";
import { pointsFor } from "../../ui/lines";
import { Processes } from "../../ui/Processes";
import { Empty, Shown } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Fact, Value } from "../../ui/value";
import { Warnings } from "../../ui/Warnings";
import { OneCurve } from "./Curves";
import { MembersHealth, type MemberStatus } from "./MembersHealth";

type Body = Got<"/v1/populations/{name}/health">;

const CURVES = [
  ["frames_per_s", "Throughput: frames per second"],
  ["lag_mean", "Policy lag: versions between acting and learning"],
] as const;

export function Health({
  name,
  members,
  running,
}: {
  name: string;
  members: readonly MemberStatus[];
  running: boolean;
}) {
  const found = useGet(
    "/v1/populations/{name}/health",
    { path: { name } },
    { everyMs: running ? OFTEN_MS : 0, population: name },
  );
  return (
    <Shown query={found} what="health">
      {(body) =>
        body.rows === null ? (
          <Empty title="Nothing is known yet">
            <p>Its trainer reports once it has started.</p>
          </Empty>
        ) : (
          <>
            <Warnings of={body.warnings} />
            {body.warnings.length === 0 && (
              <p class="good">Nothing is wrong that its trainer knows of.</p>
            )}
            <Facts of={body} rows={body.rows} />
            <h2>{body.running ? "Processes" : "Processes, as they were at the end"}</h2>
            <Processes of={body.processes} ended={!body.running} name={`processes of ${name}`} />
            <Speed name={name} members={members.length} running={running} />
            <h2>Members</h2>
            <MembersHealth of={members} />
            <h2>Rows</h2>
            <Rows of={body.rows} />
          </>
        )
      }
    </Shown>
  );
}

type Rows = NonNullable<Body["rows"]>;

function dropped(rows: Rows): number {
  return Object.values(rows.dropped).reduce((sum, one) => sum + one, 0);
}

function Facts({ of, rows }: { of: Body; rows: Rows }) {
  return (
    <dl class="facts">
      <Fact name="placement">{of.placement}</Fact>
      <Fact name={of.running ? "training for" : "trainer"}>
        {of.running && of.started_at !== null
          ? duration(Date.now() / 1000 - of.started_at)
          : "not running"}
      </Fact>
      <Fact name="last report">
        <Value
          of={of.age_s}
          format={(seconds) => `${duration(seconds)} ago`}
          why="its trainer has not reported yet"
        />
      </Fact>
      <Fact name="newest checkpoint">
        <Value
          of={of.checkpoint_age_s}
          format={(seconds) => `${duration(seconds)} ago`}
          why="none was saved yet"
        />
      </Fact>
      <Fact name="rows trained on">{count(rows.trained)}</Fact>
      <Fact name="updates">{of.updates.toLocaleString()}</Fact>
      <Fact name="updates refused">{of.refused_updates.toLocaleString()}</Fact>
      <Fact name="rows dropped">
        <Value
          of={rows.produced ? dropped(rows) / rows.produced : null}
          format={percent}
          why="no rows yet"
        />
      </Fact>
    </dl>
  );
}

function Speed({ name, members, running }: { name: string; members: number; running: boolean }) {
  const place = {
    path: { name },
    query: { keys: CURVES.map(([key]) => key).join(), points: pointsFor(members) },
  };
  const found = useGet("/v1/populations/{name}/metrics", place, {
    everyMs: running ? 4 * OFTEN_MS : 0,
    population: name,
  });
  return (
    <Shown query={found} what="curves">
      {(curves) => (
        <div class="figures">
          {CURVES.filter(([key]) => curves.keys.includes(key)).map(([key, title]) => (
            <OneCurve key={key} name={key} title={title} curves={curves} />
          ))}
        </div>
      )}
    </Shown>
  );
}

const ROWS: readonly Column<[string, number]>[] = [
  { name: "rows", value: ([name]) => name },
  {
    name: "number",
    value: ([, rows]) => rows,
    show: ([, rows]) => <span class="number">{rows.toLocaleString()}</span>,
    numeric: true,
  },
];

function Rows({ of }: { of: Rows }) {
  const reasons = Object.entries(of.dropped).map(([reason, rows]): [string, number] => [
    `dropped: ${reason}`,
    rows,
  ]);
  const rows: [string, number][] = [
    ["made", of.produced],
    ["trained on", of.trained],
    ["standing in unfinished batches", of.standing],
    ...reasons,
  ];
  return <Table label="Rows of experience" columns={ROWS} rows={rows} />;
}
