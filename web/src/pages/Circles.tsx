/** `Circles` says whether players beat each other in a circle, which no rating can explain. */
import type { Circle, CyclicShare, RatingReport } from "../api/reports";
import { decimal, percent, short } from "../format";

/** Where p is below this, circles explain the results better than chance. */
const CHANCE = 0.01;
/** With a larger share of circles the order of the ratings says little. */
const MUCH = 0.25;

/**
 * Shows nothing where there can be no circle: with fewer than three players, or in a game of one
 * seat.
 */
export function Circles({
  report: { cycles, cyclic_share: share, players },
}: {
  report: RatingReport;
}) {
  return cycles && players.length > 2 ? <CircleList cycles={cycles} share={share} /> : null;
}

function CircleList({
  cycles,
  share,
}: {
  cycles: readonly Circle[];
  share: CyclicShare | null | undefined;
}) {
  const unexplained = share && share.p < CHANCE ? share : null;
  return (
    <section>
      <h2>Circles</h2>
      {unexplained ? (
        <p class={unexplained.share > MUCH ? "warning" : "note"}>
          {percent(unexplained.share, 0)} of what decides games is in circles that no rating
          explains (p = {decimal(unexplained.p)})
          {unexplained.share > MUCH && "; the order of the ratings says little, see the matrix"}.
        </p>
      ) : (
        cycles.length === 0 && (
          <p class="note">None: ratings explain the results as well as chance allows.</p>
        )
      )}
      <ul>
        {cycles.map((circle) => (
          <li key={circle.players.join()}>
            {[...circle.players, circle.players[0]!].map(short).join(" › ")}{" "}
            <small>p = {decimal(circle.p)}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}
