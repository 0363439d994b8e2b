import type { Ratings, WinMatrix } from "../api/reports";
import { useGet } from "../query";
import { query, setQuery, to } from "../router";
import { Empty, Shown } from "../ui/parts";
import { Circles, RatingTable, WinMatrixFigure } from "./ratings";

/** Everybody who plays a game: of one population, or of all. */
export function League() {
  const populations = useGet("/v1/populations", { query: { limit: 500 } });
  return (
    <>
      <h1>League</h1>
      <Shown query={populations} what="populations">
        {(list) => {
          const names = list.items.map((one) => one.id);
          const chosen = query.value.get("population") ?? names[0];
          if (chosen === undefined) {
            return (
              <Empty title="Nobody plays yet">
                <p>
                  A league begins with a population: <a href={to(["populations"])}>Populations</a>.
                </p>
              </Empty>
            );
          }
          const everyone = query.value.get("all") === "1";
          return (
            <>
              <div class="choices">
                <label>
                  Population
                  <select value={chosen} onChange={(event) => setQuery({ population: event.currentTarget.value })}>
                    {[...new Set([...names, chosen])].map((name) => (
                      <option key={name}>{name}</option>
                    ))}
                  </select>
                </label>
                <label class="check">
                  <input type="checkbox" checked={everyone} onChange={(event) => setQuery({ all: event.currentTarget.checked })} /> with all others of its game
                </label>
              </div>
              <Standings key={`${chosen} ${everyone}`} population={chosen} everyone={everyone} />
            </>
          );
        }}
      </Shown>
    </>
  );
}

function Standings({ population, everyone }: { population: string; everyone: boolean }) {
  const place = { query: { population, all: everyone || undefined } };
  const ratings = useGet("/v1/ratings", place);
  const matrix = useGet("/v1/win-matrix", place);
  return (
    <Shown query={ratings} what="ratings">
      {(report) => {
        const rated = report as unknown as Ratings;
        return (
          <>
            <RatingTable report={rated} />
            {rated.players.length > 0 && (
              <Shown query={matrix} what="the win matrix">
                {(found) => <WinMatrixFigure report={found as unknown as WinMatrix} />}
              </Shown>
            )}
            {rated.cycles && rated.players.length > 2 && <Circles cycles={rated.cycles} share={rated.cyclic_share} />}
          </>
        );
      }}
    </Shown>
  );
}
