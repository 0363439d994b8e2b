/**
 * `Populations` is the page that lists all populations. What is sought and the order stand in the
 * address.
 */
import { session } from "../api/session";
import { OFTEN_MS, useGet } from "../api/useGet";
import { query, setQuery, to } from "../address";
import { listed, LIST_ORDERS, type ListOrder, sought } from "../populationList";
import { Pages, usePage } from "../ui/paging";
import { Empty, Shown } from "../ui/state";
import { LIST_COLUMNS, PopulationRow } from "./PopulationRow";

const MOST = 500;

export function Populations() {
  const page = usePage("after");
  const words = query.value.get("find") ?? "";
  const asked = query.value.get("sort") ?? "newest";
  const order = (asked in LIST_ORDERS ? asked : "newest") as ListOrder;
  const { sort } = LIST_ORDERS[order];
  const found = useGet(
    "/v1/populations",
    { query: { limit: MOST, cursor: page[0], sort, name: sought(words) || undefined } },
    { everyMs: OFTEN_MS, keep: true },
  );
  return (
    <>
      <div class="heading">
        <h1>Populations</h1>
        <div>
          <a class="button" href={to(["populations", "new", "import"])}>
            Import
          </a>
          {session.value === "admin" && (
            <a class="button primary" href={to(["populations", "new", "population"])}>
              New population
            </a>
          )}
        </div>
      </div>
      <Shown query={found} what="populations">
        {(list) =>
          list.items.length === 0 && !page[0] && !words ? (
            <NoPopulations />
          ) : (
            <>
              <Choices words={words} order={order} />
              {list.items.length === 0 ? (
                <Empty title="No population has this in its name">
                  <p>
                    <button onClick={() => setQuery({ find: undefined })}>Show all</button>
                  </p>
                </Empty>
              ) : (
                <div
                  class="scroll cards populations"
                  role="region"
                  aria-label="Populations"
                  tabIndex={0}
                >
                  <table>
                    <thead>
                      <tr>
                        {LIST_COLUMNS.map((name) => (
                          <th key={name} scope="col">
                            {name || <span class="unseen">actions</span>}
                          </th>
                        ))}
                      </tr>
                    </thead>
                    <tbody>
                      {listed(list.items, order).map((one) => (
                        <PopulationRow key={one.id} of={one} again={found.again} />
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
              <Pages of="populations" page={page} next={list.next} first="First" more="More" />
            </>
          )
        }
      </Shown>
    </>
  );
}

function NoPopulations() {
  return (
    <Empty title="No populations yet">
      <p>
        {session.value === "admin" ? (
          <a href={to(["populations", "new", "population"])}>Make one from a template</a>
        ) : (
          "An admin can make one"
        )}
        , or train one from a terminal: <code>arena train connect_four</code>.
      </p>
    </Empty>
  );
}

function Choices({ words, order }: { words: string; order: ListOrder }) {
  return (
    <div class="choices" role="search">
      <label>
        Search
        <input
          type="search"
          value={words}
          maxLength={64}
          placeholder="part of a name"
          onInput={(event) => setQuery({ find: event.currentTarget.value, after: undefined })}
        />
      </label>
      <label>
        Sort by
        <select
          value={order}
          onChange={(event) => setQuery({ sort: event.currentTarget.value, after: undefined })}
        >
          {Object.entries(LIST_ORDERS).map(([key, { title }]) => (
            <option key={key} value={key}>
              {title}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
