import type { Got } from "../../api/client";
import { count, decimal, duration, when } from "../../format";
import { OFTEN_MS, SELDOM_MS, useGet } from "../../api/useGet";
import { query, setQuery, to } from "../../router";
import { Downloads, saveFile } from "../../ui/Downloads";
import { Empty, Failed, Shown } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import { Fact, Value } from "../../ui/value";
import { useSpeed } from "../../ui/speed";
import { Warnings } from "../../ui/Warnings";
import { PopulationActions, StateChip } from "../PopulationActions";
import { Curves } from "./Curves";
import { Edits } from "./Edits";
import { Games } from "./Games";
import { Health } from "./Health";
import { Lineage } from "./Lineage";
import { CirclesOf, RatingTable, WinMatrixFigure } from "../RatingTable";
import { RatingChart } from "./RatingChart";
import { Schedules } from "./Schedules";
import type { Ratings, WinMatrix } from "../../api/reports";
import { session } from "../../api/session";

type Body = Got<"/v1/populations/{name}">;

const TABS = [
  ["overview", "Overview"],
  ["ratings", "Ratings"],
  ["matrix", "Matrix"],
  ["values", "Hyperparameters"],
  ["lineage", "Lineage"],
  ["curves", "Curves"],
  ["games", "Games"],
  ["health", "Health"],
  ["events", "Events"],
  ["config", "Config"],
] as const;

export function Population({ name, tab }: { name: string; tab: string }) {
  const found = useGet("/v1/populations/{name}", { path: { name } }, { everyMs: OFTEN_MS, population: name });
  const tabs = TABS.map(([key, title]) => ({ name: key, title, href: to(key === "overview" ? ["populations", name] : ["populations", name, key]) }));
  return (
    <Shown query={found} what={name}>
      {(body) => (
        <>
          <div class="heading">
            <div>
              <h1>{name}</h1>
              <StateChip status={body.status} />
            </div>
            <PopulationActions name={name} state={body.status.state} done={found.again} />
          </div>
          <Tabs label={`Views of ${name}`} tabs={tabs} now={tab} />
          <Content name={name} tab={tab} body={body} again={found.again} />
        </>
      )}
    </Shown>
  );
}

function Content({ name, tab, body, again }: { name: string; tab: string; body: Body; again: () => void }) {
  const running = body.status.state === "running";
  const everyMs = running ? SELDOM_MS : 0;
  const members = body.status.members.length;
  switch (tab) {
    case "overview":
      return <Overview body={body} />;
    case "ratings":
      return <RatingsOf name={name} everyMs={everyMs} />;
    case "matrix":
      return <MatrixOf name={name} everyMs={everyMs} />;
    case "values":
      return <Schedules name={name} everyMs={everyMs} />;
    case "lineage":
      return <Lineage name={name} everyMs={everyMs} />;
    case "curves":
      return <Curves name={name} members={members} everyMs={everyMs} />;
    case "games":
      return <Games name={name} everyMs={everyMs} />;
    case "health":
      return <Health name={name} members={members} running={running} />;
    case "events":
      return <Events name={name} everyMs={everyMs} />;
    case "config":
      return <Config body={body} again={again} />;
    default:
      return (
        <Empty title="There is no such view">
          <p>
            <a href={to(["populations", name])}>The overview</a>
          </p>
        </Empty>
      );
  }
}

const MEMBERS: readonly Column<Body["status"]["members"][number]>[] = [
  { name: "member", value: (row) => row.name },
  { name: "state", value: (row) => row.state },
  { name: "frames", value: (row) => row.frames, show: (row) => <span class="number">{count(row.frames)}</span>, numeric: true },
  { name: "policy lag", value: (row) => row.lag, show: (row) => <Value of={row.lag} format={decimal} why="no update yet" />, numeric: true },
];

function Overview({ body }: { body: Body }) {
  const { status, spec } = body;
  const goal = typeof spec.config?.["stop_at_frames"] === "number" ? (spec.config["stop_at_frames"] as number) : null;
  const speed = useSpeed(status.frames, status.state === "running");
  const least = status.members.length ? Math.min(...status.members.map((member) => member.frames)) : null;
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
          <Value of={status.members.length ? status.frames : null} format={count} why="it has not trained yet" />
        </Fact>
        <Fact name="frames per second">
          <Value of={speed} format={count} why={status.state === "running" ? "measured over the next seconds" : "it does not train"} />
        </Fact>
        <Fact name="of its goal">
          <Value of={goal && least !== null ? least / goal : null} format={(share) => `${Math.min(100, Math.floor(100 * share))} %`} why="it has no goal, or has not trained yet" />
        </Fact>
        <Fact name={`${status.state} for`}>{duration(Date.now() / 1000 - status.since)}</Fact>
        <Fact name="newest checkpoint">{status.last_checkpoint ?? <Value of={null} format={String} why="none was saved yet" />}</Fact>
        <Fact name="wanted">{spec.desired ?? <Value of={null} format={String} why="never asked of this service" />}</Fact>
      </dl>
      {status.message && status.state !== "failed" && <p class="note">{status.message}</p>}
      {spec.pending_edits.length > 0 && <p class="warning">Edits that are not in force yet: {spec.pending_edits.join(", ")}</p>}
      <h2>Members</h2>
      {status.members.length ? (
        <Table label="Members" columns={MEMBERS} rows={status.members} id={(row) => row.name} cards />
      ) : (
        <Empty title="Nobody has trained yet">
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

function RatingsOf({ name, everyMs }: { name: string; everyMs: number }) {
  const ratings = useGet("/v1/ratings", { query: { population: name } }, { everyMs, population: name });
  const snapshots = useGet("/v1/populations/{name}/snapshots", { path: { name } }, { everyMs, population: name });
  const matrix = useGet("/v1/win-matrix", { query: { population: name } }, { everyMs, population: name });
  return (
    <Shown query={ratings} what="ratings">
      {(report) => (
        <>
          <Shown query={snapshots} what="snapshots">
            {(list) => <RatingChart report={report as unknown as Ratings} snapshots={list} matrix={matrix.value as WinMatrix | undefined} />}
          </Shown>
          {matrix.problem && !matrix.value && <Failed problem={matrix.problem} again={matrix.again} />}
          <RatingTable report={report as unknown as Ratings} />
          <CirclesOf report={report as unknown as Ratings} />
        </>
      )}
    </Shown>
  );
}

function MatrixOf({ name, everyMs }: { name: string; everyMs: number }) {
  const found = useGet("/v1/win-matrix", { query: { population: name } }, { everyMs, population: name });
  return (
    <Shown query={found} what="the win matrix">
      {(report) => <WinMatrixFigure report={report as unknown as WinMatrix} />}
    </Shown>
  );
}

type Event = Got<"/v1/populations/{name}/events">["items"][number];

const EVENTS: readonly Column<Event>[] = [
  { name: "when", value: (row) => row.created_at, show: (row) => <span class="number">{when(row.created_at)}</span> },
  { name: "kind", value: (row) => row.kind },
  { name: "member", value: (row) => row.member, show: (row) => row.member ?? "all" },
  { name: "frames", value: (row) => row.frames, show: (row) => count(row.frames), numeric: true },
  { name: "what", value: (row) => row.text, wide: true },
];

const FEW_EVENTS = 500;
/** More are not given at once. */
const MANY_EVENTS = 5000;

function Events({ name, everyMs }: { name: string; everyMs: number }) {
  const most = query.value.get("many") === "1" ? MANY_EVENTS : FEW_EVENTS;
  const found = useGet("/v1/populations/{name}/events", { path: { name }, query: { limit: most } }, { everyMs, population: name, keep: true });
  const kind = query.value.get("kind") ?? "";
  return (
    <Shown query={found} what="events">
      {(list) => {
        const rows = list.items.filter((event) => !kind || event.kind === kind).reverse();
        return list.items.length === 0 ? (
          <Empty title="Nothing happened yet" />
        ) : (
          <>
            <div class="choices">
              <label>
                Kind
                <select value={kind} onChange={(event) => setQuery({ kind: event.currentTarget.value })}>
                  <option value="">all</option>
                  {[...new Set([...list.items.map((event) => event.kind), ...(kind ? [kind] : [])])].sort().map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
              </label>
              <Downloads name={`events of ${name}`} columns={EVENTS} rows={rows} />
            </div>
            <Table label="Events" columns={EVENTS} rows={rows} cards />
            {list.items.length === most && <p class="note">These are of the newest {most} events.</p>}
            {list.items.length === most && most < MANY_EVENTS && <button onClick={() => setQuery({ many: true })}>More events</button>}
          </>
        );
      }}
    </Shown>
  );
}

function Config({ body, again }: { body: Body; again: () => void }) {
  const text = JSON.stringify(body.spec.config ?? {}, null, 2);
  return (
    <>
      {session.value === "admin" && body.status.state !== "deleting" && (
        <>
          <h2>Edit</h2>
          <Edits body={body} done={again} />
        </>
      )}
      <h2>In force</h2>
      {body.spec.pending_edits.length > 0 && <p class="note">Not in force yet: {body.spec.pending_edits.join(", ")}</p>}
      <div class="downloads">
        <button onClick={() => saveFile(`${body.id}.json`, text, "application/json")}>JSON</button>
      </div>
      <pre tabIndex={0}>{text}</pre>
    </>
  );
}
