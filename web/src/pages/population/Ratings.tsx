/** `Ratings` is the tab with the ratings of a population, over frames and as a table. */
import { MOST_SNAPSHOTS, useGet } from "../../api/useGet";
import { Failed, Shown } from "../../ui/state";
import { Circles } from "../Circles";
import { RatingTable } from "../RatingTable";
import { RatingChart } from "./RatingChart";

export function Ratings({ name, everyMs }: { name: string; everyMs: number }) {
  const ratings = useGet(
    "/v1/ratings",
    { query: { population: name } },
    { everyMs, population: name },
  );
  const snapshots = useGet(
    "/v1/populations/{name}/snapshots",
    { path: { name }, query: { limit: MOST_SNAPSHOTS } },
    { everyMs, population: name },
  );
  const matrix = useGet(
    "/v1/win-matrix",
    { query: { population: name } },
    { everyMs, population: name },
  );
  const history = useGet(
    "/v1/populations/{name}/hyperparameters",
    { path: { name } },
    { everyMs, population: name },
  );
  return (
    <Shown query={ratings} what="ratings">
      {(report) => (
        <>
          <Shown query={snapshots} what="snapshots">
            {(list) => (
              <RatingChart
                report={report}
                snapshots={list}
                matrix={matrix.value}
                history={history.value}
              />
            )}
          </Shown>
          {matrix.problem && !matrix.value && (
            <Failed problem={matrix.problem} again={matrix.again} />
          )}
          <RatingTable report={report} />
          <Circles report={report} />
        </>
      )}
    </Shown>
  );
}
