/**
 * `Games` is the tab with the evaluation games of a population. It says which of them were filmed.
 */
import type { Objective } from "../../api/reports";
import { get } from "../../api/client";
import { useGet } from "../../api/useGet";
import { usePage } from "../../ui/paging";
import { askedGames, type Choosable } from "../GameFilters";
import { useFilms } from "../films";
import { gameColumns, GameList, MOST_GAMES } from "../GameList";

const PAGE = 100;

export function Games({
  name,
  objective,
  everyMs,
}: {
  name: string;
  objective: Objective;
  everyMs: number;
}) {
  const page = usePage("before");
  const asked = askedGames();
  const games = useGet(
    "/v1/populations/{name}/games",
    { path: { name }, query: { ...asked, kind: "evaluation", limit: PAGE, cursor: page[0] } },
    { everyMs, population: name, keep: true },
  );
  const all = (cursor: string | undefined) =>
    get("/v1/populations/{name}/games", {
      path: { name },
      query: { ...asked, kind: "evaluation", limit: MOST_GAMES, cursor },
    });
  const { players, opponents } = useMet(name, everyMs);
  const { problem, column } = useFilms(name, everyMs);
  const columns = [...gameColumns(objective).filter((column) => column.name !== "pair"), ...column];
  return (
    <>
      <p class="note">Evaluation games; training games keep neither moves nor films.</p>
      {problem && <p class="warning">The newest film could not be made: {problem}</p>}
      <GameList
        label="Evaluation games, newest first"
        name={`games of ${name}`}
        games={games}
        page={page}
        all={all}
        columns={columns}
        objective={objective}
        players={players}
        opponents={opponents}
        none="No evaluation game was finished yet"
      />
    </>
  );
}

/** Returns the members, and all players that games can be against. */
function useMet(
  name: string,
  everyMs: number,
): { players: readonly Choosable[]; opponents: readonly Choosable[] } {
  const rates = useGet(
    "/v1/populations/{name}/win-rates",
    { path: { name } },
    { everyMs, population: name },
  );
  const members = (rates.value?.members ?? []).map(({ member }) => ({
    name: `${name}/${member}`,
    title: member,
  }));
  const others = (rates.value?.opponents ?? [])
    .filter(({ kind }) => kind === "scripted" || kind === "guest")
    .map((one) => ({ name: one.name, title: one.name }));
  return { players: [...members, ...others], opponents: [...members, ...others] };
}
