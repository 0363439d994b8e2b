/** `Overview` is the tab with the state, the members and the log of a population. */
import type { Got } from "../../api/client";
import { count, decimal, duration } from "../../format";
import { useSpeed } from "../../ui/speed";
import { Empty } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Fact, Value } from "../../ui/value";
import { Warnings } from "../../ui/Warnings";

type Body = Got<"/v1/populations/{name}">;

const MEMBERS: readonly Column<Body["status"]["members"][number]>[] = [
  { name: "member", value: (row) => row.name },
  { name: "state", value: (row) => row.state },
  {
    name: "frames",
    value: (row) => row.frames,
    show: (row) => <span class="number">{count(row.frames)}</span>,
    numeric: true,
  },
  {
    name: "policy lag",
    value: (row) => row.lag,
    show: (row) => <Value of={row.lag} format={decimal} why="no update yet" />,
    numeric: true,
  },
  {
    name: "updates refused",
    value: (row) => row.refused_updates,
    show: (row) => <span class="number">{row.refused_updates.toLocaleString()}</span>,
    numeric: true,
  },
];

export function Overview({ body }: { body: Body }) {
  const { status, spec } = body;
  const goal =
    typeof spec.config?.["stop_at_frames"] === "number"
      ? (spec.config["stop_at_frames"] as number)
      : null;
  const speed = useSpeed(status.frames, status.state === "running");
  const least = status.members.length
    ? Math.min(...status.members.map((member) => member.frames))
    : null;
  return (
    <>
      {status.state === "failed" && (
        <div class="state failed" role="alert">
          <p class="state-title">It failed{status.reason && `: ${status.reason}`}</p>
          <p>{status.message}</p>
        </div>
      )}
      <Warnings of={status.warnings} />
      <dl class="facts">
        <Fact name="frames of all members">
          <Value
            of={status.members.length ? status.frames : null}
            format={count}
            why="it has not trained yet"
          />
        </Fact>
        <Fact name="frames per second">
          <Value
            of={speed}
            format={count}
            why={
              status.state === "running" ? "measured over the next seconds" : "it does not train"
            }
          />
        </Fact>
        <Fact name="of its goal">
          <Value
            of={goal && least !== null ? least / goal : null}
            format={(share) => `${Math.min(100, Math.floor(100 * share))} %`}
            why="it has no goal, or has not trained yet"
          />
        </Fact>
        <Fact name={`${status.state} for`}>{duration(Date.now() / 1000 - status.since)}</Fact>
        <Fact name="newest checkpoint">
          {status.last_checkpoint ?? <Value of={null} format={String} why="none was saved yet" />}
        </Fact>
        <Fact name="wanted">
          {spec.desired ?? <Value of={null} format={String} why="never asked of this service" />}
        </Fact>
      </dl>
      {status.message && status.state !== "failed" && <p class="note">{status.message}</p>}
      {spec.pending_edits.length > 0 && (
        <p class="warning">Edits that are not in force yet: {spec.pending_edits.join(", ")}</p>
      )}
      <h2>Members</h2>
      {status.members.length ? (
        <Table
          label="Members"
          columns={MEMBERS}
          rows={status.members}
          id={(row) => row.name}
          cards
        />
      ) : (
        <Empty title="No member has trained yet">
          <p>Start it, and its members appear here.</p>
        </Empty>
      )}
      <h2>Log</h2>
      {status.last_log_lines?.length ? (
        <pre tabIndex={0}>{status.last_log_lines.join("\n")}</pre>
      ) : (
        <Empty title="No log lines">
          <p>Its trainer has not written anything while this service watched.</p>
        </Empty>
      )}
    </>
  );
}
