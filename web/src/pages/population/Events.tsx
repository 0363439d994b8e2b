/** `Events` is the tab with what happened to a population. */
import type { Got } from "../../api/client";
import { useGet } from "../../api/useGet";
import { count, when } from "../../format";
import { query, setQuery } from "../../address";
import { Pages, usePage } from "../../ui/paging";
import { Downloads } from "../../ui/Downloads";
import { FoldedTable } from "../../ui/FoldedTable";
import { Empty, Shown } from "../../ui/state";
import type { Column } from "../../ui/table";

type Event = Got<"/v1/populations/{name}/events">["items"][number];

const EVENTS: readonly Column<Event>[] = [
  {
    name: "when",
    value: (row) => row.created_at,
    show: (row) => <span class="number">{when(row.created_at)}</span>,
  },
  { name: "kind", value: (row) => row.kind },
  { name: "member", value: (row) => row.member, show: (row) => row.member ?? "all" },
  { name: "frames", value: (row) => row.frames, show: (row) => count(row.frames), numeric: true },
  { name: "what", value: (row) => row.text, wide: true },
];

const EVENTS_ASKED = 500;
const FIRST = 25;

export function Events({ name, everyMs }: { name: string; everyMs: number }) {
  const page = usePage("earlier");
  const found = useGet(
    "/v1/populations/{name}/events",
    { path: { name }, query: { limit: EVENTS_ASKED, cursor: page[0] } },
    { everyMs, population: name, keep: true },
  );
  const kind = query.value.get("kind") ?? "";
  return (
    <Shown query={found} what="events">
      {(list) => {
        const rows = list.items.filter((event) => !kind || event.kind === kind);
        return list.items.length === 0 ? (
          <Empty title="Nothing happened yet" />
        ) : (
          <>
            <div class="choices">
              <label>
                Kind
                <select
                  value={kind}
                  onChange={(event) => setQuery({ kind: event.currentTarget.value })}
                >
                  <option value="">all</option>
                  {[...new Set([...list.items.map((event) => event.kind), ...(kind ? [kind] : [])])]
                    .sort()
                    .map((one) => (
                      <option key={one}>{one}</option>
                    ))}
                </select>
              </label>
              <Downloads name={`events of ${name}`} columns={EVENTS} rows={rows} />
            </div>
            <FoldedTable
              label="Events"
              what="events"
              first={FIRST}
              columns={EVENTS}
              rows={rows}
              cards
            />
            <Pages of="events" page={page} next={list.next} />
          </>
        );
      }}
    </Shown>
  );
}
