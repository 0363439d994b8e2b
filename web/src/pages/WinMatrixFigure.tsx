/** `WinMatrixFigure` is the matrix of all snapshots and other players that met. */
import { useMemo } from "preact/hooks";
import type { WinMatrixReport } from "../api/reports";
import { metOf } from "../pairs";
import { Empty } from "../ui/state";
import { PairMatrix } from "./PairMatrix";
import { NoGames } from "./RatingTable";

/** population: whose games a square shows */
export function WinMatrixFigure({
  report,
  population,
  everyMs = 0,
}: {
  report: WinMatrixReport;
  population: string;
  everyMs?: number;
}) {
  const sides = useMemo(
    () =>
      report.players.map((label) => ({
        name: label,
        label,
        kind: label.includes("/") ? "snapshot" : "scripted",
        players: [label],
      })),
    [report],
  );
  const pairs = useMemo(() => report.pairs.map(metOf), [report]);
  if (report.objective === "return") return <ReturnsCount />;
  if (report.pairs.length === 0) return <NoGames />;
  return <PairMatrix objective={report.objective} {...{ population, sides, pairs, everyMs }} />;
}

function ReturnsCount() {
  return (
    <Empty title="Returns count here">
      <p>No player beats another. The ratings have mean returns, self-play and cross-play.</p>
    </Empty>
  );
}
