/**
 * `RatingTable` shows the ratings of a population, or of all that play its game. Where
 * returns count it shows mean returns. Where players play several roles, each role has a table.
 */
import { to } from "../address";
import type { Objective, RatedPlayer, RatingReport, ReturnRow } from "../api/reports";
import { decimal, margin, percent } from "../format";
import { roleTables } from "../strength";
import { Downloads } from "../ui/Downloads";
import { Empty } from "../ui/state";
import { FoldedTable } from "../ui/FoldedTable";
import type { Column } from "../ui/table";
import { Hint, Value } from "../ui/value";
import { bestTexts } from "./bestTexts";
import { PlayerLink } from "./PlayerLink";
import { strengthColumns } from "./Strength";

/** Rows that are always shown: a page has at most three screens without a fold. */
const FIRST = 20;

const PLAYER: readonly Column<RatedPlayer>[] = [
  {
    name: "rank",
    value: (row) => row.rank,
    show: (row) => row.rank ?? (row.player === "random" ? "" : <Provisional of={row} />),
    numeric: true,
  },
  { name: "player", value: (row) => row.player, show: rated },
];

const RESULTS: readonly Column<RatedPlayer>[] = [
  { name: "games", value: (row) => row.games, numeric: true },
  { name: "won", value: (row) => row.wins, numeric: true },
  { name: "drawn", value: (row) => row.draws, numeric: true },
  { name: "lost", value: (row) => row.losses, numeric: true },
  {
    name: "score",
    value: (row) => row.score,
    show: (row) => <Value of={row.score} format={percent} why="no games" />,
    numeric: true,
  },
  { name: "against the best", value: (row) => row.score_vs_best, show: againstBest, numeric: true },
  {
    name: "against random",
    value: (row) => row.score_vs_random,
    show: (row) => <Value of={row.score_vs_random} format={percent} why="they never met" />,
    numeric: true,
  },
  { name: "met", value: (row) => row.opponents, numeric: true },
];

function rated(row: RatedPlayer) {
  return (
    <>
      <PlayerLink label={row.player} kind={row.kind} />
      {row.kind === "guest" && <small> guest</small>}
      {row.weights_removed && (
        <Hint
          text="*"
          why="its weights were removed: its games still count, but it plays no more"
        />
      )}
    </>
  );
}

function Provisional({ of }: { of: RatedPlayer }) {
  return of.provisional ? (
    <Hint text="?" why="provisional: fewer than 30 games, or no chain of games to the others" />
  ) : (
    <Hint text="–" why="it plays any role, and ranks are of one" />
  );
}

function againstBest(row: RatedPlayer) {
  if (row.score_vs_best !== null) return <span class="number">{percent(row.score_vs_best)}</span>;
  if (row.predicted_vs_best === null)
    return <Value of={null} format={percent} why="it is the best itself, or has no rating" />;
  return (
    <Hint
      text={`(${percent(row.predicted_vs_best, 0)})`}
      why="predicted by the ratings; they never met"
    />
  );
}

const RETURNED: readonly Column<ReturnRow>[] = [
  {
    name: "rank",
    value: (row) => row.rank,
    show: (row) => row.rank ?? <Hint text="?" why="provisional: fewer than 30 games" />,
    numeric: true,
  },
  { name: "player", value: (row) => row.player, show: (row) => <PlayerLink label={row.player} /> },
];
const RETURN_GAMES: Column<ReturnRow> = {
  name: "games",
  value: (row) => row.games,
  numeric: true,
};
const ALONE = "it never played beside others";
const CROSSED: readonly Column<ReturnRow>[] = [
  {
    name: "cross-play",
    value: (row) => row.cross_play,
    show: (row) => <Value of={row.cross_play} format={decimal} why={ALONE} />,
    numeric: true,
  },
  { name: "its games", value: (row) => row.cross_play_games, numeric: true },
  {
    name: "gap",
    value: (row) => row.gap,
    show: (row) => (
      <Value of={row.gap} format={margin} why="it takes games with itself and beside others" />
    ),
    numeric: true,
  },
];

/** Returns the columns of ratings. */
function ratedColumns(objective: Objective): readonly Column<RatedPlayer>[] {
  return [...PLAYER, ...strengthColumns<RatedPlayer>(objective, (row) => row), ...RESULTS];
}

/**
 * Returns the columns of mean returns; cross-play has some where any player sat beside others, and
 * any in all seats of a game.
 */
export function returnColumns(rows: readonly ReturnRow[]): readonly Column<ReturnRow>[] {
  const crossed =
    rows.some((row) => row.cross_play !== null) &&
    rows.some((row) => row.cross_play !== row.mean_return || row.cross_play_games !== row.games);
  return [
    ...RETURNED,
    ...strengthColumns<ReturnRow>("return", (row) => row),
    RETURN_GAMES,
    ...(crossed ? CROSSED : []),
  ];
}

export function RatingTable({ report }: { report: RatingReport }) {
  if (report.players.length === 0) return <NoGames />;
  return (
    <section>
      <p class="note">{report.rating}.</p>
      {report.objective === "return" ? (
        <Rows
          what="Returns"
          of={report.population}
          columns={returnColumns(report.players)}
          rows={report.players}
        />
      ) : (
        <Rows
          what="Ratings"
          of={report.population}
          columns={ratedColumns(report.objective)}
          rows={report.players}
        />
      )}
      <Best of={report} />
    </section>
  );
}

function Rows<Row extends { id: string; role: string | null }>({
  what,
  of,
  columns,
  rows,
}: {
  what: string;
  of: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
}) {
  return (
    <>
      {roleTables(rows).map(({ role, rows: own }) => {
        const label = role === null ? what : `${what}, role ${role}`;
        const name = `${what.toLowerCase()} of ${of}${role === null ? "" : `-${role}`}`;
        return (
          <section key={role}>
            {role !== null && <h3>{role}</h3>}
            <FoldedTable
              label={label}
              what="players"
              first={FIRST}
              columns={columns}
              rows={own}
              id={(row) => row.id}
            />
            <Downloads name={name} columns={columns} rows={own} />
          </section>
        );
      })}
    </>
  );
}

/** Says which player is the best of each role, and what may be claimed of it. */
function Best({ of }: { of: RatingReport }) {
  return (
    <>
      {bestTexts(of).map(({ text, match }) => (
        <p key={text} class="note">
          {text} {match !== null && <a href={to(["matches", String(match)])}>Its fresh games</a>}
        </p>
      ))}
    </>
  );
}

export function NoGames() {
  return (
    <Empty title="No evaluation games yet">
      <p>
        They begin when the first snapshots are there; ratings come from them and from matches
        alone.
      </p>
    </Empty>
  );
}
