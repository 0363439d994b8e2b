/**
 * `Matches` is the page of all matches: those that were asked for here, and those of the league.
 */
import type { Got } from "../api/client";
import { session } from "../api/session";
import { useGet } from "../api/useGet";
import { interval, percent, when } from "../format";
import { resultOf, type StoredMatch } from "../matchResults";
import { labelOf } from "../playerLabels";
import { query, setQuery, to } from "../address";
import { headlineOf } from "../strength";
import { Pages, usePage } from "../ui/paging";
import { Empty, Shown } from "../ui/state";
import { type Column, Table } from "../ui/table";
import { Value } from "../ui/value";
import { NewMatch } from "./NewMatch";

type RequestedMatch = Got<"/v1/evaluations">["items"][number];

const MOST = 100;

const REQUEST_COLUMNS: readonly Column<RequestedMatch>[] = [
  {
    name: "match",
    value: (row) => row.id,
    show: (row) => <a href={to(["evaluations", row.id])}>{row.players.join(" – ")}</a>,
  },
  {
    name: "state",
    value: (row) => row.state,
    show: (row) => <span class={`chip chip-${row.state}`}>{row.state.toLowerCase()}</span>,
  },
  {
    name: "games",
    value: (row) => row.games,
    show: (row) => `${row.games} of ${row.planned ?? "?"}`,
    numeric: true,
  },
  { name: "score", value: (row) => row.statistics?.score, show: score, numeric: true },
  { name: "asked for", value: (row) => row.created_at, show: (row) => when(row.created_at) },
];

function score({ statistics }: RequestedMatch) {
  if (!statistics)
    return <Value of={null} format={percent} why="no whole pair yet, or more than two players" />;
  const { text, low, high, tick } = headlineOf(statistics);
  return (
    <span class="number">
      {text} <small>{interval(low, high, tick)}</small>
    </span>
  );
}

function labels({ players }: StoredMatch): string[] {
  return players.map(({ kind, name }) => labelOf(kind, name));
}

function result(match: StoredMatch) {
  const found = resultOf(match, labels(match));
  if (!found) return <Value of={null} format={percent} why="no game was played yet" />;
  const { text, interval: range, detail } = found;
  return (
    <span class="number">
      {text} {range && <small class="interval">{range}</small>} <small>{detail}</small>
    </span>
  );
}

/** The columns of a table of stored matches. */
export const MATCH_COLUMNS: readonly Column<StoredMatch>[] = [
  {
    name: "number",
    value: (row) => row.id,
    show: (row) => <a href={to(["matches", row.id])}>{row.id}</a>,
    numeric: true,
  },
  { name: "game", value: (row) => row.env },
  { name: "players", value: (row) => labels(row).join(" – ") },
  {
    name: "result",
    value: (row) => resultOf(row, labels(row))?.value,
    show: result,
  },
  {
    name: "games",
    value: (row) => row.games,
    show: ({ standings: [first], games }) =>
      first && first.games !== games ? `${first.games} of ${games}` : games,
    numeric: true,
  },
  { name: "begun", value: (row) => row.created_at, show: (row) => when(row.created_at) },
  {
    name: "finished",
    value: (row) => row.finished_at,
    show: (row) =>
      row.finished_at === null ? (
        <Value of={null} format={String} why="open: `arena match --resume` goes on with it" />
      ) : (
        when(row.finished_at)
      ),
  },
];

export function Matches() {
  const [page, older] = [usePage("before"), usePage("asked")];
  const asked = useGet(
    "/v1/evaluations",
    { query: { limit: MOST, cursor: older[0] } },
    { keep: true },
  );
  const stored = useGet("/v1/matches", { query: { limit: MOST, cursor: page[0] } }, { keep: true });
  return (
    <>
      <h1>Matches</h1>
      {session.value === "admin" && <NewMatchSection />}
      <h2>Asked for here</h2>
      <Shown query={asked} what="matches">
        {(list) =>
          list.items.length ? (
            <>
              <Table
                label="Matches asked for here"
                columns={REQUEST_COLUMNS}
                rows={list.items}
                id={(row) => row.id}
                cards
              />
              <Pages of="matches asked for" page={older} next={list.next} />
            </>
          ) : (
            <Empty title="None yet">
              <p>
                Choose two players in the matrix of the <a href={to(["league"])}>league</a>.
              </p>
            </Empty>
          )
        }
      </Shown>
      <h2>All of the league</h2>
      <Shown query={stored} what="matches">
        {(list) =>
          list.items.length ? (
            <>
              <Table
                label="All matches"
                columns={MATCH_COLUMNS}
                rows={list.items}
                id={(row) => row.id}
                cards
              />
              <Pages of="matches" page={page} next={list.next} />
            </>
          ) : (
            <Empty title="No match was played yet">
              <p>
                In a terminal: <code>arena match first@best random</code>.
              </p>
            </Empty>
          )
        }
      </Shown>
    </>
  );
}

/** Shows the form for a new match, once it is opened. */
function NewMatchSection() {
  const open = query.value.get("new") === "1";
  return (
    <details
      open={open}
      onToggle={(event) =>
        event.currentTarget.open !== open && setQuery({ new: event.currentTarget.open })
      }
    >
      <summary>New match</summary>
      {open && <NewMatch />}
    </details>
  );
}
