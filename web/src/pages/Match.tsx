/** `Match` is the page of a stored match, game by game. */
import { get } from "../api/client";
import type { Objective } from "../api/reports";
import { useGet } from "../api/useGet";
import { when } from "../format";
import type { Game } from "../matchResults";
import { labelOf } from "../playerLabels";
import { countedIn, gainsText } from "../strength";
import { to } from "../address";
import { Pages, usePage } from "../ui/paging";
import { Empty, Shown } from "../ui/state";
import { type Column, Table } from "../ui/table";
import { Fact, Value } from "../ui/value";
import { ExportGames } from "./ExportGames";
import { askedGames, type Choosable, GameFilters, gamesAreFiltered } from "./GameFilters";
import { MatchStatistics, verdictOf } from "./MatchStatistics";

/** The service gives no more games at once. */
export const MOST_GAMES = 500;

/** The columns of a table of stored games. */
export const GAME_COLUMNS: readonly Column<Game>[] = [
  {
    name: "number",
    value: (row) => row.number,
    show: (row) => <a href={to(["games", row.id])}>{row.number}</a>,
    numeric: true,
  },
  {
    name: "pair",
    value: (row) => row.pair,
    show: (row) => <Value of={row.pair} format={String} why="not played in pairs" />,
    numeric: true,
  },
  {
    name: "seats",
    value: (row) => row.seats.map((seat) => seat.player).join(" "),
    show: (row) => row.seats.map((seat) => labelOf(seat.player_kind, seat.player)).join(" – "),
  },
  { name: "result", value: (row) => row.seats.map((seat) => seat.place).join(" "), show: result },
  { name: "decisions", value: (row) => row.steps, numeric: true },
  { name: "ended by", value: (row) => row.end_reason },
  { name: "seed", value: (row) => row.seed, numeric: true },
];

/** Returns the columns of games in which an objective counts: wins, margins or returns. */
export function gameColumns(objective: Objective): readonly Column<Game>[] {
  if (objective === "win") return GAME_COLUMNS;
  const gained: Column<Game> = {
    name: objective,
    value: (row) => row.seats.map((seat) => seat.returns).join(" "),
    show: (row) => (
      <span class="number">
        {gainsText(
          row.seats.map((seat) => seat.returns),
          objective,
        )}
      </span>
    ),
  };
  return GAME_COLUMNS.map((column) => (column.name === "result" ? gained : column));
}

function result(game: Game): string {
  const first = game.seats.filter((seat) => seat.place === 0);
  if (first.length === game.seats.length) return "drawn";
  return `${first.map((seat) => labelOf(seat.player_kind, seat.player)).join(", ")} won`;
}

export function Match({ id }: { id: string }) {
  const found = useGet("/v1/matches/{match_id}", { path: { match_id: id } });
  return (
    <Shown query={found} what={`match ${id}`}>
      {(match) => {
        const names = match.players.map((player) => labelOf(player["kind"]!, player["name"]!));
        return (
          <>
            <h1>
              Match {id}: {names.join(" against ")}
            </h1>
            <dl class="facts">
              <Fact name="game">{match.env}</Fact>
              <Fact name="games planned">{match.games}</Fact>
              <Fact name="seed">{match.seed}</Fact>
              <Fact name="moves">{match.settings["greedy"] ? "greedy" : "sampled"}</Fact>
              <Fact name="decided by">{countedIn(match.objective).decides}</Fact>
              {match.settings["fresh"] === true && (
                <Fact name="ratings">its games are fresh: they count in none</Fact>
              )}
              <Fact name="begun">{when(match.created_at)}</Fact>
              <Fact name="finished">
                {match.finished_at === null ? (
                  <Value of={null} format={String} why="it is open" />
                ) : (
                  when(match.finished_at)
                )}
              </Fact>
            </dl>
            <Numbers id={id} names={names} />
            <Games
              id={id}
              objective={match.objective}
              players={match.players.map(({ name }, index) => ({ name, title: names[index]! }))}
            />
          </>
        );
      }}
    </Shown>
  );
}

function Numbers({ id, names }: { id: string; names: readonly string[] }) {
  const statistics = useGet("/v1/matches/{match_id}/statistics", { path: { match_id: id } });
  const [first, second] = names;
  if (names.length !== 2) {
    return (
      <p class="note">
        <code>arena match --resume {id}</code> prints the standings of a table of {names.length}.
      </p>
    );
  }
  return (
    <Shown query={statistics} what="its numbers">
      {(found) =>
        found === null ? (
          <p class="note">
            <code>arena match --resume {id}</code> prints its standings.
          </p>
        ) : (
          <MatchStatistics
            of={found}
            first={first!}
            second={second!}
            verdict={verdictOf(found, first!, second!)}
          />
        )
      }
    </Shown>
  );
}

function Games({
  id,
  objective,
  players,
}: {
  id: string;
  objective: Objective;
  players: readonly Choosable[];
}) {
  const columns = gameColumns(objective);
  const page = usePage("before");
  const asked = askedGames();
  const games = useGet(
    "/v1/matches/{match_id}/games",
    { path: { match_id: id }, query: { ...asked, limit: 100, cursor: page[0] } },
    { keep: true },
  );
  const all = (cursor: string | undefined) =>
    get("/v1/matches/{match_id}/games", {
      path: { match_id: id },
      query: { ...asked, limit: MOST_GAMES, cursor },
    });
  return (
    <>
      <h2>Games</h2>
      <GameFilters
        players={[...new Map(players.map((one) => [one.name, one])).values()]}
        opponents={[]}
        counted={objective !== "return"}
      />
      <Shown query={games} what="games">
        {(list) =>
          list.items.length ? (
            <>
              <ExportGames name={`games of match ${id}`} page={all} />
              <Table
                label="Games, newest first"
                columns={columns}
                rows={list.items}
                id={(row) => row.id}
                cards
              />
              <Pages of="games" page={page} next={list.next} />
            </>
          ) : (
            <Empty
              title={gamesAreFiltered() ? "No game is like that" : "No game was finished yet"}
            />
          )
        }
      </Shown>
    </>
  );
}
