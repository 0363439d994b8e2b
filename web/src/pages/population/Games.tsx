/**
 * `Games` is the tab with the evaluation games of a population. It says which of them were filmed.
 */
import type { Objective } from "../../api/reports";
import { useGet } from "../../api/useGet";
import { bytes } from "../../format";
import { Pages, usePage } from "../../ui/paging";
import { Empty, Shown } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { type Game, gameColumns } from "../Match";

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
  const games = useGet(
    "/v1/populations/{name}/games",
    { path: { name }, query: { kind: "evaluation", limit: PAGE, cursor: page[0] } },
    { everyMs, population: name },
  );
  const films = useGet(
    "/v1/populations/{name}/films",
    { path: { name } },
    { everyMs, population: name },
  );
  const filmed = new Map(films.value?.items.map((film) => [film.game, film.size_bytes]));
  const film: Column<Game> = {
    name: "film",
    value: (row) => filmed.has(row.id),
    show: (row) =>
      filmed.has(row.id) ? <span class="chip live">film, {bytes(filmed.get(row.id)!)}</span> : "",
  };
  const columns = [
    ...gameColumns(objective).filter((column) => column.name !== "pair"),
    ...(filmed.size ? [film] : []),
  ];
  return (
    <>
      <p class="note">Evaluation games; training games keep neither moves nor films.</p>
      {films.value?.problem && (
        <p class="warning">The newest film could not be made: {films.value.problem}</p>
      )}
      <Shown query={games} what="games">
        {(list) =>
          list.items.length ? (
            <>
              <Table
                label="Evaluation games, newest first"
                columns={columns}
                rows={list.items}
                id={(row) => row.id}
                cards
              />
              <Pages of="games" page={page} next={list.next} />
            </>
          ) : (
            <Empty title="No evaluation game was finished yet" />
          )
        }
      </Shown>
    </>
  );
}
