/** `League` is the page of ratings: of one population, or of all players of its game. */
import { gameOf } from "../api/reports";
import { useGet } from "../api/useGet";
import { query, setQuery, to } from "../address";
import { Empty, Shown } from "../ui/state";
import { Table } from "../ui/table";
import { Circles } from "./Circles";
import { MATCH_COLUMNS } from "./Matches";
import { RatingTable } from "./RatingTable";
import { SitDownLink } from "./SitDownLink";
import { WinMatrixFigure } from "./WinMatrixFigure";

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
              <Empty title="No population plays yet">
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
                  <select
                    value={chosen}
                    onChange={(event) => setQuery({ population: event.currentTarget.value })}
                  >
                    {[...new Set([...names, chosen])].map((name) => (
                      <option key={name}>{name}</option>
                    ))}
                  </select>
                  {list.next && <small>the first {names.length}; others by the address</small>}
                </label>
                <label class="check">
                  <input
                    type="checkbox"
                    checked={everyone}
                    onChange={(event) => setQuery({ all: event.currentTarget.checked })}
                  />{" "}
                  with all others of its game
                </label>
                <SitDownLink population={chosen}>Sit down and play</SitDownLink>
              </div>
              <Standings key={`${chosen} ${everyone}`} population={chosen} everyone={everyone} />
              <MatchesOfGame key={chosen} population={chosen} />
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
      {(rated) => {
        return (
          <>
            <RatingTable report={rated} />
            {rated.players.length > 0 && rated.objective !== "return" && (
              <Shown query={matrix} what="the win matrix">
                {(found) => <WinMatrixFigure report={found} population={population} />}
              </Shown>
            )}
            <Circles report={rated} />
          </>
        );
      }}
    </Shown>
  );
}

const NEWEST = 10;

/** Shows the newest matches of the game that a population plays. */
function MatchesOfGame({ population }: { population: string }) {
  const body = useGet(
    "/v1/populations/{name}",
    { path: { name: population } },
    { everyMs: 0, population },
  );
  const env = gameOf(body.value);
  const found = useGet(env === undefined ? null : "/v1/matches", { query: { env, limit: NEWEST } });
  if (!env || !found.value) return null;
  return (
    <>
      <h2>Matches of {env}</h2>
      {found.value.items.length ? (
        <>
          <Table
            label={`Newest matches of ${env}`}
            columns={MATCH_COLUMNS}
            rows={found.value.items}
            id={(row) => row.id}
            cards
          />
          <p class="note">
            <a href={to(["matches"])}>All matches</a>
          </p>
        </>
      ) : (
        <p class="note">
          None yet: <a href={to(["matches"], { new: true, population })}>start one</a>.
        </p>
      )}
    </>
  );
}
