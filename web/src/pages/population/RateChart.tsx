/** `RateChart` shows what members get of one opponent over their frames of training. */
import { useMemo } from "preact/hooks";
import { query, setQuery } from "../../address";
import { useGet } from "../../api/useGet";
import { capital, count, percent } from "../../format";
import { valued } from "../../pairs";
import {
  type Block,
  MOST_MEMBERS,
  opponentName,
  rateLines,
  type RateOpponent,
  type RateReport,
} from "../../rates";
import { Chart } from "../../ui/Chart";
import { Figure } from "../../ui/Figure";
import { Empty, Shown } from "../../ui/state";
import type { Column } from "../../ui/table";
import { Value } from "../../ui/value";

interface Row extends Block {
  member: string;
}

const NO_INTERVAL = "its games give no interval";

function columnsOf(objective: RateReport["objective"]): readonly Column<Row>[] {
  const { name, format } = valued(objective);
  const ends = (["value", "low", "high"] as const).map((key): Column<Row> => ({
    name: key === "value" ? name : key,
    value: (row) => row[key],
    show: (row) => <Value of={row[key]} format={format} why={NO_INTERVAL} />,
    numeric: true,
  }));
  return [
    { name: "member", value: (row) => row.member },
    { name: "from", value: (row) => row.first, show: (row) => count(row.first), numeric: true },
    { name: "to", value: (row) => row.last, show: (row) => count(row.last), numeric: true },
    ...ends,
    { name: "games", value: (row) => row.games, numeric: true },
    { name: "snapshots", value: (row) => row.snapshots, numeric: true },
  ];
}

export function RateChart({ name, everyMs }: { name: string; everyMs: number }) {
  const against = query.value.get("against") ?? undefined;
  const found = useGet(
    "/v1/populations/{name}/win-rates",
    { path: { name }, query: { against } },
    { everyMs, population: name, keep: true },
  );
  return (
    <>
      {found.problem?.status === 404 && (
        <p>
          <button onClick={() => setQuery({ against: undefined })}>Show another player</button>
        </p>
      )}
      <Shown query={found} what="win rates">
        {(report) => <Rates report={report} />}
      </Shown>
    </>
  );
}

function Rates({ report }: { report: RateReport }) {
  const { objective, against, members } = report;
  const all = query.value.get("members") === "all";
  const lines = useMemo(() => rateLines(members, all), [members, all]);
  if (against === null)
    return (
      <Empty title="No evaluation games yet">
        <p>They begin when the first snapshots are there; win rates come from them.</p>
      </Empty>
    );
  const { name, verb, format } = valued(objective);
  const called = opponentName(against, objective === "return");
  const title = `${titled(objective)} ${verb} ${called}`;
  const rows = members.flatMap(({ member, blocks }) =>
    blocks.map((block) => ({ ...block, member })),
  );
  return (
    <Figure
      title={title}
      note={<Choices report={report} against={against} />}
      columns={columnsOf(objective)}
      rows={rows}
    >
      {lines.length ? (
        <Chart
          label={title}
          place="win rates"
          lines={lines}
          height={260}
          format={objective === "win" ? (share) => percent(share, 0) : format}
          {...(objective === "win" ? { range: [0, 1.03] as const } : {})}
        />
      ) : (
        <Empty title={`No snapshot has met ${called} yet`} />
      )}
      <p class="note">
        The {name} of{" "}
        {report.block_frames > 1
          ? `the snapshots of each ${count(report.block_frames)} frames`
          : "each snapshot"}
        {lines[0]?.name === "median of all"
          ? "; the band around the median holds half of the members"
          : " with its 95 % interval"}
        .
      </p>
    </Figure>
  );
}

function titled(objective: RateReport["objective"]): string {
  return { win: "Win rate", margin: "Margin a game", return: "Return a game" }[objective];
}

function Choices({ report, against }: { report: RateReport; against: RateOpponent }) {
  const returns = report.objective === "return";
  const listed = report.opponents.some((one) => one.name === against.name);
  const played = report.members.filter((one) => one.blocks.length).length;
  const snapshot = (text: string) => setQuery({ against: text.trim() || undefined });
  return (
    <span class="choices">
      <label>
        {capital(valued(report.objective).other)}
        <select
          value={against.name}
          onChange={(event) => setQuery({ against: event.currentTarget.value })}
        >
          {[...(listed ? [] : [against]), ...report.opponents].map((one) => (
            <option key={one.name} value={one.name}>
              {opponentName(one, returns)} ({one.games} games)
            </option>
          ))}
        </select>
      </label>
      <label>
        or a snapshot
        <input
          placeholder={`${report.members[0]?.member ?? "m0"}@100k`}
          value={against.kind === "snapshot" ? against.name : ""}
          onChange={(event) => snapshot(event.currentTarget.value)}
        />
      </label>
      {played > MOST_MEMBERS && (
        <label class="check">
          <input
            type="checkbox"
            checked={query.value.get("members") === "all"}
            onChange={(event) =>
              setQuery({ members: event.currentTarget.checked ? "all" : undefined })
            }
          />{" "}
          all {played} members
        </label>
      )}
    </span>
  );
}
