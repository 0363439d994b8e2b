/**
 * `Processes` is the table of the processes of trainings: what each does, how its time is spent,
 * and what it costs.
 */
import type { Schemas } from "../api/client";
import { bytes, count, percent } from "../format";
import { Downloads } from "./Downloads";
import { Empty } from "./state";
import { type Column, Table } from "./table";
import { Value } from "./value";

type Process = Schemas["ProcessBody"];

const STAGES = ["simulate", "infer", "learn", "gather", "wait"] as const;

const COLUMNS: readonly Column<Process>[] = [
  {
    name: "process",
    value: (row) => row.name,
    show: (row) => <span class="number">{row.name}</span>,
  },
  { name: "does", value: (row) => row.roles.join(", ") },
  {
    name: "state",
    value: (row) => row.state,
    show: (row) => (
      <span class={row.state === "down" ? "chip chip-failed" : "chip"}>{row.state}</span>
    ),
  },
  { name: "time", value: (row) => sharesText(row), show: (row) => <Shares of={row} /> },
  {
    name: "rows/s",
    value: (row) => row.rate,
    show: (row) => <span class="number">{count(row.rate)}</span>,
    numeric: true,
  },
  { name: "waiting", value: (row) => row.queue, numeric: true, why: "it has no queue" },
  { name: "restarts", value: (row) => row.restarts, numeric: true },
  {
    name: "sign of life",
    value: (row) => row.beat_age_s,
    show: (row) => <span class="number">{row.beat_age_s.toFixed(1)} s ago</span>,
    numeric: true,
  },
  {
    name: "memory",
    value: (row) => row.memory_bytes,
    show: (row) => <Value of={row.memory_bytes} format={bytes} why="it is not there now" />,
    numeric: true,
  },
  { name: "pid", value: (row) => row.pid, numeric: true, why: "it is not there now" },
];
const WITH_POPULATION: readonly Column<Process>[] = [
  { name: "population", value: (row) => row.population },
  ...COLUMNS,
];
const OF_THE_MOMENT: ReadonlySet<string> = new Set([
  "state",
  "rows/s",
  "waiting",
  "sign of life",
  "memory",
  "pid",
]);
const ENDED = COLUMNS.filter(({ name }) => !OF_THE_MOMENT.has(name));

/**
 * mixed: the processes are of several populations
 * ended: they are gone, and only what they did is known
 */
export function Processes({
  of,
  mixed = false,
  ended = false,
  name,
}: {
  of: readonly Process[];
  mixed?: boolean;
  ended?: boolean;
  name: string;
}) {
  if (of.length === 0) return <Empty title="Nothing trains here now" />;
  const columns = ended ? ENDED : mixed ? WITH_POPULATION : COLUMNS;
  return (
    <>
      <Table
        label={name}
        columns={columns}
        rows={of}
        id={(row) => `${row.population} ${row.name}`}
        cards
      />
      <p class="legend stages" aria-hidden="true">
        {STAGES.map((stage, index) => (
          <span key={stage}>
            <i class={`fill-${index}`} /> {stage}
          </span>
        ))}
      </p>
      <Downloads name={name} columns={columns} rows={of} />
    </>
  );
}

function sharesText({ shares }: Process): string {
  const known = Object.entries(shares).sort(([, a], [, b]) => b - a);
  return known.map(([stage, share]) => `${stage} ${percent(share, 0)}`).join(", ");
}

/** Draws the shares of time as a bar to scale. The words are for people who cannot see it. */
function Shares({ of }: { of: Process }) {
  const text = sharesText(of);
  if (!text) return <Value of={null} format={String} why="no time accounted yet" />;
  return (
    <span class="shares" title={text}>
      {STAGES.map((stage, index) =>
        of.shares[stage] ? (
          <i key={stage} class={`fill-${index}`} style={{ width: `${100 * of.shares[stage]}%` }} />
        ) : null,
      )}
      <span class="unseen">{text}</span>
    </span>
  );
}
