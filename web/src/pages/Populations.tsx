/** `Populations` is the page that lists all populations. */
import type { Schemas } from "../api/client";
import type { RatingReport } from "../api/reports";
import { session } from "../api/session";
import { OFTEN_MS, type Query, SELDOM_MS, useGet } from "../api/useGet";
import { count, duration, short } from "../format";
import { to } from "../address";
import { bestOf, strengthOf } from "../strength";
import { Pages, usePage } from "../ui/paging";
import { useSpeed } from "../ui/speed";
import { Empty, Shown, whyNot } from "../ui/state";
import { Value } from "../ui/value";
import { Warnings } from "../ui/Warnings";
import { PopulationActions } from "./PopulationActions";
import { StateChip } from "./StateChip";
import { Strength } from "./Strength";

type Population = Schemas["PopulationBody"];

const COLUMNS = ["name", "state", "best rating", "frames", "frames/s", "last event", ""] as const;
const MOST = 500;

export function Populations() {
  const page = usePage("after");
  const found = useGet(
    "/v1/populations",
    { query: { limit: MOST, cursor: page[0] } },
    { everyMs: OFTEN_MS, keep: true },
  );
  return (
    <>
      <div class="heading">
        <h1>Populations</h1>
        <a class="button" href={to(["populations", "new", "import"])}>Import</a>
        {session.value === "admin" && (
          <a class="button primary" href={to(["populations", "new", "population"])}>
            New population
          </a>
        )}
      </div>
      <Shown query={found} what="populations">
        {(list) =>
          list.items.length === 0 && !page[0] ? (
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
          ) : (
            <>
              <div class="scroll cards" role="region" aria-label="Populations" tabIndex={0}>
                <table>
                  <thead>
                    <tr>
                      {COLUMNS.map((name, index) => (
                        <th key={name} scope="col" class={index >= 2 && index <= 4 ? "right" : ""}>
                          {name || <span class="unseen">actions</span>}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {list.items.map((one) => (
                      <Row key={one.id} of={one} again={found.again} />
                    ))}
                  </tbody>
                </table>
              </div>
              <Pages of="populations" page={page} next={list.next} first="Oldest" more="Newer" />
            </>
          )
        }
      </Shown>
    </>
  );
}

function Row({ of, again }: { of: Population; again: () => void }) {
  const running = of.status.state === "running";
  const everyMs = running ? SELDOM_MS : 0;
  const ratings = useGet(
    "/v1/ratings",
    { query: { population: of.id } },
    { everyMs, population: of.id },
  );
  const events = useGet(
    "/v1/populations/{name}/events",
    { path: { name: of.id }, query: { limit: 1 } },
    { everyMs, population: of.id },
  );
  const speed = useSpeed(of.status.frames, running);
  const last = events.value?.items[0];
  return (
    <tr>
      <td data-name="name">
        <a href={to(["populations", of.id])}>{of.id}</a>
      </td>
      <td data-name="state">
        <div>
          <StateChip status={of.status} />
          {of.status.state === "failed" && <p class="wrong">{of.status.message}</p>}
          <Warnings of={of.status.warnings} />
          {of.spec.pending_edits.length > 0 && <p class="note">edits wait to be taken</p>}
        </div>
      </td>
      <td data-name="best rating" class="right">
        <div>
          <Best of={ratings} />
        </div>
      </td>
      <td data-name="frames" class="right">
        <Value
          of={of.status.members.length ? of.status.frames : null}
          format={count}
          why="it has not trained yet"
        />
      </td>
      <td data-name="frames/s" class="right">
        <Value
          of={speed}
          format={count}
          why={running ? "measured over the next seconds" : "it does not train"}
        />
      </td>
      <td data-name="last event">
        {last ? (
          <span class="event">
            {last.text} <small>{duration(Date.now() / 1000 - last.created_at)} ago</small>
          </span>
        ) : (
          <Value of={null} format={String} why={whyNot(events, "nothing happened yet")} />
        )}
      </td>
      <td>
        <PopulationActions name={of.id} state={of.status.state} done={again} />
      </td>
    </tr>
  );
}

/** Shows the rating, or mean return, of the best of each role, with its interval. */
function Best({ of }: { of: Query<RatingReport> }) {
  const report = of.value;
  if (!report) return <Value of={null} format={String} why={whyNot(of, "")} />;
  const rows = bestOf(report).flatMap(
    ({ id }) => report.players.find((row) => row.id === id) ?? [],
  );
  if (rows.length === 0)
    return <Value of={null} format={String} why="no snapshot has enough evaluation games yet" />;
  return (
    <>
      {rows.map((row) => {
        const strength = strengthOf(row, report.objective);
        return (
          <div key={row.id}>
            <strong>
              <Strength of={strength} />
            </strong>{" "}
            <small class="number">{strength.interval}</small>
            <br />
            <small>{short(row.player)}</small>
          </div>
        );
      })}
    </>
  );
}
