import type { Circle, CyclicShare, RatingReport } from "../api/reports";
import { decimal, percent, short } from "../format";

/** Below it ratings explain the results as well as chance allows. */
const CHANCE = 0.01;
const MUCH = 0.25;

/** Nothing where nobody could go round: fewer than three players, or a game that nobody wins. */
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
  return (
    <section>
      <h2>Circles</h2>
      {share && share.p < CHANCE ? (
        <p class={share.share > MUCH ? "warning" : "note"}>
          {percent(share.share, 0)} of what decides games is in circles that no rating explains (p ={" "}
          {decimal(share.p)})
          {share.share > MUCH && "; the order of the ratings says little, see the matrix"}.
        </p>
      ) : (
        cycles.length === 0 && (
          <p class="note">None: ratings explain the results as well as chance allows.</p>
        )
      )}
      <ul>
        {cycles.map((circle) => (
          <li key={circle.players.join()}>
            {[...circle.players, circle.players[0]].map((name) => short(name ?? "")).join(" › ")}{" "}
            <small>p = {decimal(circle.p)}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}
