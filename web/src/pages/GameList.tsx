/** `GameList` shows stored games, page by page, with what chooses among them and saves them. */
import type { Objective } from "../api/reports";
import type { Query } from "../api/useGet";
import type { Game } from "../matchResults";
import { labelOf } from "../playerLabels";
import { gainsText } from "../strength";
import { to } from "../address";
import { FoldedTable } from "../ui/FoldedTable";
import { Pages, type usePage } from "../ui/paging";
import { Empty, Shown } from "../ui/state";
import type { Column } from "../ui/table";
import { Value } from "../ui/value";
import { ExportGames, type GamePage } from "./ExportGames";
import { type Choosable, GameFilters, gamesAreFiltered } from "./GameFilters";

/** The service gives no more games at once. */
export const MOST_GAMES = 500;

/** Rows that are always shown. */
const FIRST = 25;

/** The columns of a table of stored games. */
const GAME_COLUMNS: readonly Column<Game>[] = [
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
    wide: true,
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

/**
 * games: the page that is shown. all: asks for the games of any page, to save them. name: of the
 * file that is saved. none: what is said where there are none at all
 */
export function GameList({
  label,
  name,
  games,
  page,
  all,
  columns,
  objective,
  players,
  opponents,
  none,
}: {
  label: string;
  name: string;
  games: Query<GamePage>;
  page: ReturnType<typeof usePage>;
  all: (cursor: string | undefined) => Promise<GamePage>;
  columns: readonly Column<Game>[];
  objective: Objective;
  players: readonly Choosable[];
  opponents: readonly Choosable[];
  none: string;
}) {
  return (
    <>
      <GameFilters players={players} opponents={opponents} objective={objective} />
      <Shown query={games} what="games">
        {(list) =>
          list.items.length ? (
            <>
              <ExportGames name={name} page={all} />
              <FoldedTable
                label={label}
                what="games"
                first={FIRST}
                columns={columns}
                rows={list.items}
                id={(row) => row.id}
                cards
              />
              <Pages of="games" page={page} next={list.next} />
            </>
          ) : (
            <Empty title={gamesAreFiltered() ? "No game is like that" : none} />
          )
        }
      </Shown>
    </>
  );
}
