/** The rating table, the matrix and the circles: of one population, or of all that play its game. */
import { useState } from "preact/hooks";
import type { Got } from "../api/client";
import type { Circle, CyclicShare, RatedPlayer, Ratings, ReturnRow, WinMatrix } from "../api/reports";
import { isRated } from "../api/reports";
import { session } from "../api/session";
import { decimal, elo, percent, short } from "../format";
import { to } from "../router";
import { Matrix } from "../ui/Matrix";
import { Downloads } from "../ui/Downloads";
import { Figure } from "../ui/Figure";
import { Empty } from "../ui/state";
import { type Column, Table } from "../ui/table";
import { Hint, Value } from "../ui/value";
import { StartMatch } from "./StartMatch";

/** "demo/m0@351k" as a link to the policy; others are no policies of ours. */
export function Player({ label, kind }: { label: string; kind?: string }) {
  const [population, player] = [label.slice(0, label.indexOf("/")), short(label)];
  if ((kind ?? "snapshot") !== "snapshot" || !label.includes("/")) return <>{label}</>;
  return <a href={to(["populations", population, "policies", player])}>{label}</a>;
}

const RATED: readonly Column<RatedPlayer>[] = [
  { name: "rank", value: (row) => row.rank, show: (row) => (row.rank ?? (row.player === "random" ? "" : <Provisional />)), numeric: true },
  { name: "player", value: (row) => row.player, show: rated },
  { name: "Elo", value: (row) => row.elo, show: (row) => <Value of={row.elo} format={elo} why="no chain of games connects it to the others" />, numeric: true },
  { name: "low", value: (row) => row.low, show: (row) => <Value of={row.low} format={elo} why="no interval" />, numeric: true },
  { name: "high", value: (row) => row.high, show: (row) => <Value of={row.high} format={elo} why="no interval" />, numeric: true },
  { name: "games", value: (row) => row.games, numeric: true },
  { name: "won", value: (row) => row.wins, numeric: true },
  { name: "drawn", value: (row) => row.draws, numeric: true },
  { name: "lost", value: (row) => row.losses, numeric: true },
  { name: "score", value: (row) => row.score, show: (row) => <Value of={row.score} format={percent} why="no games" />, numeric: true },
  { name: "against the best", value: (row) => row.score_vs_best, show: againstBest, numeric: true },
  { name: "against random", value: (row) => row.score_vs_random, show: (row) => <Value of={row.score_vs_random} format={percent} why="they never met" />, numeric: true },
  { name: "met", value: (row) => row.opponents, numeric: true },
];

function rated(row: RatedPlayer) {
  return (
    <>
      <Player label={row.player} kind={row.kind} />
      {row.kind === "guest" && <small> guest</small>}
      {row.weights_removed && <Hint text="*" why="its weights were removed: its games still count, but it plays no more" />}
    </>
  );
}

function Provisional() {
  return <Hint text="?" why="provisional: fewer than 30 games, or no chain of games to the others" />;
}

function againstBest(row: RatedPlayer) {
  if (row.score_vs_best !== null) return <span class="number">{percent(row.score_vs_best)}</span>;
  if (row.predicted_vs_best === null) return <Value of={null} format={percent} why="it is the best itself, or has no rating" />;
  return <Hint text={`(${percent(row.predicted_vs_best, 0)})`} why="predicted by the ratings; they never met" />;
}

const RETURNS: readonly Column<ReturnRow>[] = [
  { name: "player", value: (row) => row.player, show: (row) => <Player label={row.player} /> },
  { name: "mean return", value: (row) => row.mean_return, show: (row) => <Value of={row.mean_return} format={decimal} why="no games" />, numeric: true },
  { name: "low", value: (row) => row.low, show: (row) => <Value of={row.low} format={decimal} why="one game has no interval" />, numeric: true },
  { name: "high", value: (row) => row.high, show: (row) => <Value of={row.high} format={decimal} why="one game has no interval" />, numeric: true },
  { name: "games", value: (row) => row.games, numeric: true },
];

export function RatingTable({ report }: { report: Ratings }) {
  if (report.players.length === 0) return <NoGames />;
  return (
    <section>
      <p class="note">{report.rating}.</p>
      {isRated(report.players) ? (
        <>
          <Table label="Ratings" columns={RATED} rows={report.players} id={(row) => row.id} />
          <Downloads name={`ratings of ${report.population}`} columns={RATED} rows={report.players} />
        </>
      ) : (
        <>
          <Table label="Returns" columns={RETURNS} rows={report.players} id={(row) => row.id} />
          <Downloads name={`returns of ${report.population}`} columns={RETURNS} rows={report.players} />
        </>
      )}
    </section>
  );
}

export function NoGames() {
  return (
    <Empty title="No evaluation games yet">
      <p>They begin when the first snapshots are there; ratings come from them and from matches alone.</p>
    </Empty>
  );
}

const PAIRS: readonly Column<WinMatrix["pairs"][number]>[] = [
  { name: "player", value: (row) => row.player },
  { name: "opponent", value: (row) => row.opponent },
  { name: "games", value: (row) => row.games, numeric: true },
  { name: "won", value: (row) => row.wins, numeric: true },
  { name: "drawn", value: (row) => row.draws, numeric: true },
  { name: "lost", value: (row) => row.losses, numeric: true },
  { name: "score", value: (row) => row.score, show: (row) => percent(row.score), numeric: true },
  { name: "low", value: (row) => row.low, show: (row) => percent(row.low), numeric: true },
  { name: "high", value: (row) => row.high, show: (row) => percent(row.high), numeric: true },
];

/** A square opens a match between its two players. */
export function WinMatrixFigure({ report }: { report: WinMatrix }) {
  const [chosen, setChosen] = useState<readonly [string, string] | null>(null);
  if (report.pairs.length === 0) return <NoGames />;
  const open = session.value === "admin" ? { open: (row: string, column: string) => setChosen([row, column]) } : {};
  return (
    <>
      <Figure
        title="Who beats whom"
        note={`Score of the row against the column: blue above a half, orange below, pale with few games.${"open" in open ? " A square starts a match, an empty one, too." : ""}`}
        columns={PAIRS}
        rows={report.pairs}
      >
        <Matrix of={report} {...open} />
      </Figure>
      {chosen && <StartMatch first={chosen[0]} second={chosen[1]} close={() => setChosen(null)} />}
    </>
  );
}

/** Below it ratings explain the results as well as chance allows. */
const CHANCE = 0.01;
const MUCH = 0.25;

/** Nothing where nobody could go round: fewer than three players, or a game that nobody wins. */
export function CirclesOf({ report: { cycles, cyclic_share: share, players } }: { report: Ratings }) {
  return cycles && players.length > 2 ? <Circles cycles={cycles} share={share} /> : null;
}

function Circles({ cycles, share }: { cycles: readonly Circle[]; share: CyclicShare | null | undefined }) {
  return (
    <section>
      <h2>Circles</h2>
      {share && share.p < CHANCE ? (
        <p class={share.share > MUCH ? "warning" : "note"}>
          {percent(share.share, 0)} of what decides games is in circles that no rating explains (p = {decimal(share.p)})
          {share.share > MUCH && "; the order of the ratings says little, see the matrix"}.
        </p>
      ) : (
        cycles.length === 0 && <p class="note">None: ratings explain the results as well as chance allows.</p>
      )}
      <ul>
        {cycles.map((circle) => (
          <li key={circle.players.join()}>
            {[...circle.players, circle.players[0]].map((name) => short(name ?? "")).join(" › ")} <small>p = {decimal(circle.p)}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}

export interface RatedSnapshot {
  member: string;
  frames: number;
  row: RatedPlayer;
}

/** Ratings with the members and frames of their snapshots, oldest first. */
export function overFrames(report: Ratings, snapshots: Got<"/v1/populations/{name}/snapshots">): RatedSnapshot[] {
  if (!isRated(report.players)) return [];
  const known = new Map(snapshots.items.map((one) => [one.id, one]));
  const found = report.players.flatMap((row) => {
    const snapshot = known.get(row.id);
    return snapshot ? [{ member: snapshot.member, frames: snapshot.frames, row }] : [];
  });
  return found.sort((a, b) => a.frames - b.frames);
}

