/**
 * `WinMatrixFigure` is the matrix of scores, or of margins where they count, with its numbers. A
 * square opens a match between its two players.
 */
import { useState } from "preact/hooks";
import type { Objective, Pair, WinMatrixReport } from "../api/reports";
import { session } from "../api/session";
import { type Decided } from "../strength";
import { Figure } from "../ui/Figure";
import { Matrix } from "../ui/Matrix";
import { Empty } from "../ui/state";
import type { Column } from "../ui/table";
import { decidedColumns } from "./pairColumns";
import { NoGames } from "./RatingTable";
import { StartMatch } from "./StartMatch";

const SCORES =
  "Score of the row against the column: blue above a half, orange below, pale with few games.";
const MARGINS =
  "Mean margin a game of the row against the column: blue above 0, orange below, pale with few games.";

/** Returns the columns of the numbers below the matrix. */
function pairColumns(objective: Objective): readonly Column<Pair>[] {
  return [
    { name: "player", value: (row) => row.player },
    { name: "opponent", value: (row) => row.opponent },
    { name: "games", value: (row) => row.games, numeric: true },
    { name: "won", value: (row) => row.wins, numeric: true },
    { name: "drawn", value: (row) => row.draws, numeric: true },
    { name: "lost", value: (row) => row.losses, numeric: true },
    ...decidedColumns<Pair>(objective, decided),
  ];
}

function decided({ score, low, high, margin, margin_low, margin_high }: Pair): Decided {
  const mean = margin === null ? null : { mean: margin, low: margin_low, high: margin_high };
  return { score, low, high, margin: mean };
}

export function WinMatrixFigure({ report }: { report: WinMatrixReport }) {
  const [chosen, setChosen] = useState<readonly [string, string] | null>(null);
  if (report.objective === "return") return <ReturnsCount />;
  if (report.pairs.length === 0) return <NoGames />;
  const colours = report.objective === "margin" ? MARGINS : SCORES;
  const open =
    session.value === "admin"
      ? { open: (row: string, column: string) => setChosen([row, column]) }
      : {};
  return (
    <>
      <Figure
        title={report.objective === "margin" ? "Who wins how much of whom" : "Who beats whom"}
        note={"open" in open ? `${colours} A square starts a match, an empty one, too.` : colours}
        columns={pairColumns(report.objective)}
        rows={report.pairs}
      >
        <Matrix of={report} {...open} />
      </Figure>
      {chosen && <StartMatch first={chosen[0]} second={chosen[1]} close={() => setChosen(null)} />}
    </>
  );
}

function ReturnsCount() {
  return (
    <Empty title="Returns count here">
      <p>No player beats another. The ratings have mean returns, self-play and cross-play.</p>
    </Empty>
  );
}
