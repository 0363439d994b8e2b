/** Paging goes through a list that comes a page at a time. */
import { query, setQuery } from "../address";

/**
 * Returns the cursor of a list from the address, and a function that goes to another one.
 * name: of the parameter, one for each list of a view
 */
export function usePage(
  name: string,
): [cursor: string | undefined, go: (cursor: string | undefined) => void] {
  return [query.value.get(name) ?? undefined, (cursor) => setQuery({ [name]: cursor })];
}

/** Shows the buttons below a page of a list: to the next page, and back to the first. */
export function Pages({ of, page: [cursor, go], next, first = "Newest", more = "Older" }: PagesOf) {
  if (!cursor && !next) return null;
  return (
    <div class="buttons">
      {cursor && <button onClick={() => go(undefined)}>{`${first} ${of}`}</button>}
      {next && <button onClick={() => go(next)}>{`${more} ${of}`}</button>}
    </div>
  );
}

interface PagesOf {
  of: string;
  page: ReturnType<typeof usePage>;
  next: string | null;
  first?: string;
  more?: string;
}
