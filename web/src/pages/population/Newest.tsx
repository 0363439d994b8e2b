/** `Newest` shows what happened to a population last; the tab of events has all of it. */
import type { Got } from "../../api/client";
import { useGet } from "../../api/useGet";
import { to } from "../../address";
import { ago, count, when } from "../../format";
import { NarrowFold } from "../../ui/Fold";
import { Empty, Shown } from "../../ui/state";
import { rounded } from "../../verdictText";

type Event = Got<"/v1/populations/{name}/events">["items"][number];

const ASKED = 100;
const SHOWN = 6;
/** These come in every training, and are shown where nothing else happened: rarest last. */
const ROUTINE = ["checkpoint", "defaults", "finish"] as const;

export function Newest({ name, everyMs }: { name: string; everyMs: number }) {
  const found = useGet(
    "/v1/populations/{name}/events",
    { path: { name }, query: { limit: ASKED } },
    { everyMs, population: name },
  );
  return (
    <section>
      <NarrowFold title="What happened last">
        {() => (
          <Shown query={found} what="events">
            {({ items }) =>
              items.length ? (
                <>
                  <ul class="events">
                    {newestOf(items).map((one) => (
                      <Happened
                        key={`${one.incarnation} ${one.created_at} ${one.text}`}
                        event={one}
                      />
                    ))}
                  </ul>
                  <p class="note">
                    <a href={to(["populations", name, "events"])}>All events</a>
                  </p>
                </>
              ) : (
                <Empty title="Nothing happened yet" />
              )
            }
          </Shown>
        )}
      </NarrowFold>
    </section>
  );
}

function Happened({ event }: { event: Event }) {
  return (
    <li>
      <span class="chip">{event.kind}</span> <strong>{event.member ?? "all"}</strong>{" "}
      <small title={when(event.created_at)}>
        {`${ago(event.created_at)}, at ${count(event.frames)} frames`}
      </small>
      <p class="why" tabIndex={0} title={event.text}>
        {rounded(event.text)}
      </p>
    </li>
  );
}

/** Returns the newest events that are no routine; where there is no other, the newest of all. */
export function newestOf(items: readonly Event[]): Event[] {
  for (const kinds of [ROUTINE, ROUTINE.slice(0, 2)]) {
    const rare = items.filter((one) => !kinds.some((kind) => kind === one.kind));
    if (rare.length) return rare.slice(0, SHOWN);
  }
  return items.slice(0, SHOWN);
}
