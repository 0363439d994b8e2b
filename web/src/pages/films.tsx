/** This file shows in lists of games which of them were filmed, and leads to the films. */
import { useGet } from "../api/useGet";
import { bytes } from "../format";
import type { Game } from "../matchResults";
import { to } from "../address";
import type { Column } from "../ui/table";

/**
 * Returns a column with links to the films of a population's games, or none where there is no film,
 * and why the newest film could not be made.
 */
export function useFilms(
  population: string,
  everyMs: number,
): { column: readonly Column<Game>[]; problem: string | null } {
  const films = useGet(
    "/v1/populations/{name}/films",
    { path: { name: population } },
    { everyMs, population },
  );
  const sizes = new Map(films.value?.items.map((film) => [film.game, film.size_bytes]));
  const column: Column<Game> = {
    name: "film",
    value: (row) => sizes.has(row.id),
    show: (row) => {
      const size = sizes.get(row.id);
      if (size === undefined) return "";
      return (
        <a class="chip live" href={to(["games", row.id])} title={`Film of ${bytes(size)}`}>
          ▶ film
        </a>
      );
    },
  };
  return { column: sizes.size ? [column] : [], problem: films.value?.problem ?? null };
}
