/**
 * `Circles` says whether players beat each other in a circle, which no rating can explain: in games
 * won, or in margins where they count.
 */
import type { Circle, CyclicShare, Objective, RatingReport } from "../api/reports";
import { decimal, percent } from "../format";
import { CircleFigure } from "./CircleFigure";

/** Where p is below this, circles explain the results better than chance. */
const CHANCE = 0.01;
/** With a larger share of circles the order of the ratings says little. */
const MUCH = 0.25;

/**
 * Shows nothing where there can be no circle: with two players, and where returns count.
 */
export function Circles({ report }: { report: RatingReport }) {
  return report.objective !== "return" && report.players.length > 2 ? (
    <CircleList objective={report.objective} cycles={report.cycles} share={report.cyclic_share} />
  ) : null;
}

function CircleList({
  objective,
  cycles,
  share,
}: {
  objective: Objective;
  cycles: readonly Circle[];
  share: CyclicShare | null | undefined;
}) {
  const unexplained = share && share.p < CHANCE ? share : null;
  const margins = objective === "margin";
  return (
    <section>
      <h2>Circles{margins && " of margins"}</h2>
      {unexplained ? (
        <p class={unexplained.share > MUCH ? "warning" : "note"}>
          {percent(unexplained.share, 0)} of {margins ? "the margins" : "what decides games"} is in
          circles that no rating explains (p = {decimal(unexplained.p)})
          {unexplained.share > MUCH && "; the order of the ratings says little, see the matrix"}.
        </p>
      ) : (
        cycles.length === 0 && (
          <p class="note">None: ratings explain the results as well as chance allows.</p>
        )
      )}
      {cycles.length > 0 && <CircleFigure circles={cycles} />}
    </section>
  );
}
