/**
 * `RatingTable` shows the ratings of a population, or of all that play its game. In games of one
 * seat it shows mean returns.
 */
import { isRated, type RatedPlayer, type RatingReport, type ReturnRow } from "../api/reports";
import { decimal, elo, percent } from "../format";
import { Downloads } from "../ui/Downloads";
import { Empty } from "../ui/state";
import { type Column, Table } from "../ui/table";
import { Hint, Value } from "../ui/value";
import { PlayerLink } from "./PlayerLink";

const RATED: readonly Column<RatedPlayer>[] = [
  {
    name: "rank",
    value: (row) => row.rank,
    show: (row) => row.rank ?? (row.player === "random" ? "" : <Provisional />),
    numeric: true,
  },
  { name: "player", value: (row) => row.player, show: rated },
  {
    name: "Elo",
    value: (row) => row.elo,
    show: (row) => (
      <Value of={row.elo} format={elo} why="no chain of games connects it to the others" />
    ),
    numeric: true,
  },
  {
    name: "low",
    value: (row) => row.low,
    show: (row) => <Value of={row.low} format={elo} why="no interval" />,
    numeric: true,
  },
  {
    name: "high",
    value: (row) => row.high,
    show: (row) => <Value of={row.high} format={elo} why="no interval" />,
    numeric: true,
  },
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

function Provisional() {
  return (
    <Hint text="?" why="provisional: fewer than 30 games, or no chain of games to the others" />
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

const RETURNS: readonly Column<ReturnRow>[] = [
  { name: "player", value: (row) => row.player, show: (row) => <PlayerLink label={row.player} /> },
  {
    name: "mean return",
    value: (row) => row.mean_return,
    show: (row) => <Value of={row.mean_return} format={decimal} why="no games" />,
    numeric: true,
  },
  {
    name: "low",
    value: (row) => row.low,
    show: (row) => <Value of={row.low} format={decimal} why="one game has no interval" />,
    numeric: true,
  },
  {
    name: "high",
    value: (row) => row.high,
    show: (row) => <Value of={row.high} format={decimal} why="one game has no interval" />,
    numeric: true,
  },
  { name: "games", value: (row) => row.games, numeric: true },
];

export function RatingTable({ report }: { report: RatingReport }) {
  if (report.players.length === 0) return <NoGames />;
  return (
    <section>
      <p class="note">{report.rating}.</p>
      {isRated(report.players) ? (
        <>
          <Table label="Ratings" columns={RATED} rows={report.players} id={(row) => row.id} />
          <Downloads
            name={`ratings of ${report.population}`}
            columns={RATED}
            rows={report.players}
          />
        </>
      ) : (
        <>
          <Table label="Returns" columns={RETURNS} rows={report.players} id={(row) => row.id} />
          <Downloads
            name={`returns of ${report.population}`}
            columns={RETURNS}
            rows={report.players}
          />
        </>
      )}
    </section>
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
