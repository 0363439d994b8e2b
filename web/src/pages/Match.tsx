/** `Match` is the page of a stored match, game by game. */
import { get } from "../api/client";
import type { Objective } from "../api/reports";
import { useGet } from "../api/useGet";
import { when } from "../format";
import { together } from "../pairs";
import { labelOf } from "../playerLabels";
import { countedIn } from "../strength";
import { usePage } from "../ui/paging";
import { Shown } from "../ui/state";
import { Fact, Value } from "../ui/value";
import { askedGames, type Choosable } from "./GameFilters";
import { gameColumns, GameList, MOST_GAMES } from "./GameList";
import { MatchStatistics, verdictOf } from "./MatchStatistics";

export function Match({ id }: { id: string }) {
  const found = useGet("/v1/matches/{match_id}", { path: { match_id: id } });
  return (
    <Shown query={found} what={`match ${id}`}>
      {(match) => {
        const names = match.players.map((player) => labelOf(player["kind"]!, player["name"]!));
        return (
          <>
            <h1>
              Match {id}: {together(names, match.objective)}
            </h1>
            <dl class="facts">
              <Fact name="game">{match.env}</Fact>
              <Fact name="games planned">{match.games}</Fact>
              <Fact name="seed">{match.seed}</Fact>
              <Fact name="moves">{match.settings["greedy"] ? "greedy" : "sampled"}</Fact>
              <Fact name="decided by">{countedIn(match.objective).decides}</Fact>
              {match.settings["fresh"] === true && (
                <Fact name="ratings">its games are fresh: they count in none</Fact>
              )}
              <Fact name="begun">{when(match.created_at)}</Fact>
              <Fact name="finished">
                {match.finished_at === null ? (
                  <Value of={null} format={String} why="it is open" />
                ) : (
                  when(match.finished_at)
                )}
              </Fact>
            </dl>
            <Numbers id={id} names={names} />
            <Games
              id={id}
              objective={match.objective}
              players={match.players.map(({ name }, index) => ({ name, title: names[index]! }))}
            />
          </>
        );
      }}
    </Shown>
  );
}

function Numbers({ id, names }: { id: string; names: readonly string[] }) {
  const statistics = useGet("/v1/matches/{match_id}/statistics", { path: { match_id: id } });
  const [first, second] = names;
  if (names.length !== 2) {
    return (
      <p class="note">
        <code>arena match --resume {id}</code> prints the standings of a table of {names.length}.
      </p>
    );
  }
  return (
    <Shown query={statistics} what="its numbers">
      {(found) =>
        found === null ? (
          <p class="note">
            <code>arena match --resume {id}</code> prints its standings.
          </p>
        ) : (
          <MatchStatistics
            of={found}
            first={first!}
            second={second!}
            verdict={verdictOf(found, first!, second!)}
          />
        )
      }
    </Shown>
  );
}

function Games({
  id,
  objective,
  players,
}: {
  id: string;
  objective: Objective;
  players: readonly Choosable[];
}) {
  const page = usePage("before");
  const asked = askedGames();
  const games = useGet(
    "/v1/matches/{match_id}/games",
    { path: { match_id: id }, query: { ...asked, limit: 100, cursor: page[0] } },
    { keep: true },
  );
  const all = (cursor: string | undefined) =>
    get("/v1/matches/{match_id}/games", {
      path: { match_id: id },
      query: { ...asked, limit: MOST_GAMES, cursor },
    });
  return (
    <>
      <h2>Games</h2>
      <GameList
        label="Games, newest first"
        name={`games of match ${id}`}
        games={games}
        page={page}
        all={all}
        columns={gameColumns(objective)}
        objective={objective}
        players={[...new Map(players.map((one) => [one.name, one])).values()]}
        opponents={[]}
        none="No game was finished yet"
      />
    </>
  );
}
