/**
 * `WinMatrixFigure` is the win matrix with its numbers. A square opens a match between its two
 * players.
 */
import { useState } from "preact/hooks";
import type { WinMatrixReport } from "../api/reports";
import { session } from "../api/session";
import { percent } from "../format";
import { Figure } from "../ui/Figure";
import { Matrix } from "../ui/Matrix";
import type { Column } from "../ui/table";
import { NoGames } from "./RatingTable";
import { StartMatch } from "./StartMatch";

const COLOURS =
  "Score of the row against the column: blue above a half, orange below, pale with few games.";

const PAIRS: readonly Column<WinMatrixReport["pairs"][number]>[] = [
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

export function WinMatrixFigure({ report }: { report: WinMatrixReport }) {
  const [chosen, setChosen] = useState<readonly [string, string] | null>(null);
  if (report.pairs.length === 0) return <NoGames />;
  const open =
    session.value === "admin"
      ? { open: (row: string, column: string) => setChosen([row, column]) }
      : {};
  return (
    <>
      <Figure
        title="Who beats whom"
        note={"open" in open ? `${COLOURS} A square starts a match, an empty one, too.` : COLOURS}
        columns={PAIRS}
        rows={report.pairs}
      >
        <Matrix of={report} {...open} />
      </Figure>
      {chosen && <StartMatch first={chosen[0]} second={chosen[1]} close={() => setChosen(null)} />}
    </>
  );
}
