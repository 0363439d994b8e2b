/**
 * `Members` is the table of the members of a population: how strong each is, what PBT did with it
 * last, and whether it is well. Of many members the first ten are shown, and the others fold.
 */
import type { Assessment, MemberRow } from "../../api/assessment";
import { query, setQuery, to } from "../../address";
import { countedBy, MEMBER_ORDERS, type MemberOrder, ordered, rangedText } from "../../assessment";
import { ago, count, percent, short } from "../../format";
import { Downloads } from "../../ui/Downloads";
import { FoldedTable } from "../../ui/FoldedTable";
import { Spark } from "../../ui/Spark";
import { Empty } from "../../ui/state";
import type { Column } from "../../ui/table";
import { Hint, Value } from "../../ui/value";
import { reasonText } from "../../verdictText";

const FIRST = 10;

const HEALTH = {
  ok: "chip-running",
  refusing: "chip-recovering",
  behind: "chip-recovering",
  dead: "chip-failed",
  unknown: "",
} as const;

/** A member that trains is green; one that has ended well is calm. */
function chipOf({ health, state }: MemberRow): string {
  return health === "ok" && state !== "running" ? "" : HEALTH[health];
}

/** Returns the columns that the members need: roles and win rates where there are any. */
function columnsOf(of: Assessment): readonly Column<MemberRow>[] {
  const { name, format } = countedBy(of.unit);
  const role: Column<MemberRow> = { name: "role", value: (row) => row.role };
  const roles = new Set(of.members.map((one) => one.role)).size > 1;
  const scores = of.members.some((one) => one.score !== null);
  // A member has the colour that it has in the chart: by its place among the names.
  const places = new Map(ordered(of.members, "name").map((one, index) => [one.member, index]));
  return [
    {
      name: "member",
      value: (row) => row.member,
      show: (row) => (
        <a href={to(["populations", of.population, "policies", row.member])}>{row.member}</a>
      ),
    },
    ...(roles ? [role] : []),
    {
      name,
      value: (row) => row.value,
      show: (row) => <Strong of={row} format={format} />,
      numeric: true,
    },
    ...(scores ? [SCORE] : []),
    {
      name: "trend",
      value: (row) => row.trend.map(([, value]) => value).join(" "),
      show: (row) =>
        row.trend.length > 1 ? (
          <Spark
            points={row.trend}
            format={format}
            label={`${name} of ${row.member}`}
            colour={places.get(row.member)!}
          />
        ) : (
          <Hint text="–" why="it takes two rated snapshots" />
        ),
    },
    { name: "last PBT event", value: (row) => row.last_pbt?.text, show: lastPbt, wide: true },
    {
      name: "frames",
      value: (row) => row.frames,
      show: (row) => <span class="number">{count(row.frames)}</span>,
      numeric: true,
    },
    {
      name: "health",
      value: (row) => row.health,
      show: (row) => (
        <div>
          <span class={`chip ${chipOf(row)}`}>{row.health === "ok" ? row.state : row.health}</span>
          {row.health !== "ok" && row.health_text && <p class="warning">{row.health_text}</p>}
        </div>
      ),
    },
  ];
}

function Strong({ of, format }: { of: MemberRow; format: (value: number) => string }) {
  const text = rangedText(of, format);
  if (!text) return <Hint text="–" why="its snapshots have too few evaluation games yet" />;
  return (
    <div class="number">
      <strong>{text.text}</strong> <small>{text.ends}</small>
      {of.player && (
        <>
          <br />
          <small>{short(of.player)}</small>
        </>
      )}
    </div>
  );
}

const SCORE: Column<MemberRow> = {
  name: "win rate",
  value: (row) => row.score,
  show: (row) =>
    row.score === null ? (
      <Value of={null} format={percent} why="it has not met that player yet" />
    ) : (
      <div class="number">
        <strong>{percent(row.score)}</strong>{" "}
        <small>
          {row.score_low !== null &&
            row.score_high !== null &&
            `[${percent(row.score_low, 0)}, ${percent(row.score_high, 0)}]`}
        </small>
        <br />
        <small>{`${row.score_games} games against ${row.score_against}`}</small>
      </div>
    ),
  numeric: true,
};

function lastPbt({ last_pbt: last }: MemberRow) {
  if (!last) return <Hint text="–" why="PBT has not decided about it yet" />;
  return (
    <div>
      {last.text} <small>{ago(last.time)}</small>
      <p class="why" tabIndex={0} title={last.why}>
        {reasonText(last.why)}
      </p>
    </div>
  );
}

export function Members({ of }: { of: Assessment }) {
  if (of.members.length === 0)
    return (
      <Empty title="No member has trained yet">
        <p>Start it, and its members appear here.</p>
      </Empty>
    );
  return <MembersTable of={of} />;
}

function MembersTable({ of }: { of: Assessment }) {
  const asked = query.value.get("sort") ?? "strength";
  const order = (asked in MEMBER_ORDERS ? asked : "strength") as MemberOrder;
  const rows = ordered(of.members, order);
  const columns = columnsOf(of);
  return (
    <section>
      <h2>Members</h2>
      <div class="choices">
        {rows.length > 1 && (
          <label>
            Sort by
            <select
              value={order}
              onChange={(event) => setQuery({ sort: event.currentTarget.value })}
            >
              {Object.entries(MEMBER_ORDERS).map(([key, title]) => (
                <option key={key} value={key}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        <Downloads name={`members of ${of.population}`} columns={columns} rows={rows} />
      </div>
      <FoldedTable
        label="Members"
        what="members"
        first={FIRST}
        columns={columns}
        rows={rows}
        id={(row) => row.member}
        cards
      />
      <p class="note">{definitionOf(of)}</p>
    </section>
  );
}

/** Says what the numbers of the table are. */
function definitionOf({ unit, members }: Assessment): string {
  const { name } = countedBy(unit);
  const strength = `${name}: of the newest rated snapshot of each member, with its 95 % interval`;
  const against = [...new Set(members.map((one) => one.score_against).filter(Boolean))];
  return against.length === 0
    ? `${strength}.`
    : `${strength}. Win rate: won of its games against ${against.join(", ")}; a draw counts half.`;
}
