/** A match that the service plays: its statistics, and how the interval shrinks. */
import { useEffect, useState } from "preact/hooks";
import { change, type Got } from "../api/client";
import type { MatchReport } from "../api/reports";
import { session } from "../api/session";
import { OFTEN_MS, useGet } from "../api/useGet";
import { count, decimal, percent, when } from "../format";
import { to } from "../router";
import { Chart } from "../ui/Chart";
import { saveFile } from "../ui/Downloads";
import { Figure } from "../ui/Figure";
import { useSending } from "../ui/sending";
import { Empty, Shown } from "../ui/state";
import type { Column } from "../ui/table";
import { Fact, Value } from "../ui/value";
import { MatchStatistics } from "./MatchStatistics";

type Body = Got<"/v1/evaluations/{evaluation_id}">;
type Look = Pick<NonNullable<Body["statistics"]>, "score" | "low" | "high"> & { games: number };

/** More than a chart has pixels to show. */
const MOST_LOOKS = 400;

const LOOKS: readonly Column<Look>[] = [
  { name: "games", value: (row) => row.games, numeric: true },
  { name: "score", value: (row) => row.score, show: (row) => percent(row.score), numeric: true },
  { name: "low", value: (row) => row.low, show: (row) => percent(row.low), numeric: true },
  { name: "high", value: (row) => row.high, show: (row) => percent(row.high), numeric: true },
];

export function MatchRequest({ id }: { id: string }) {
  const [over, setOver] = useState(false);
  const found = useGet(
    "/v1/evaluations/{evaluation_id}",
    { path: { evaluation_id: id } },
    { everyMs: over ? 0 : OFTEN_MS / 2 },
  );
  const looks = useLooks(found.value);
  const ended = found.value && found.value.state !== "PENDING" && found.value.state !== "RUNNING";
  useEffect(() => setOver(Boolean(ended)), [ended]);
  return (
    <Shown query={found} what="the match">
      {(body) => (
        <>
          <div class="heading">
            <div>
              <h1>{body.players.join(" against ")}</h1>
              <span class={`chip chip-${body.state}`}>{body.state.toLowerCase()}</span>
            </div>
            {!ended && session.value === "admin" && <Cancel id={id} done={found.again} />}
          </div>
          {body.message && <p class={body.state === "FAILED" ? "wrong" : "note"}>{body.message}</p>}
          <Told body={body} />
          <Facts body={body} />
          {looks.length > 1 && (
            <Figure
              title="Score as games came in"
              note="with its 95 % interval, as this page saw it"
              columns={LOOKS}
              rows={looks}
            >
              <Chart
                label="Score over games"
                lines={[
                  {
                    name: body.players[0]!,
                    colour: 0,
                    x: looks.map((look) => look.games),
                    y: looks.map((look) => look.score),
                    low: looks.map((look) => look.low),
                    high: looks.map((look) => look.high),
                  },
                ]}
                format={(share) => percent(share, 0)}
                unit="games"
              />
            </Figure>
          )}
          <div class="downloads">
            {body.match && <a href={to(["matches", body.match])}>Its games</a>}
            {body.report && (
              <button
                onClick={() =>
                  saveFile(
                    `match-${id}.json`,
                    JSON.stringify(body.report, null, 1),
                    "application/json",
                  )
                }
              >
                JSON
              </button>
            )}
          </div>
        </>
      )}
    </Shown>
  );
}

/** Its numbers so far. */
function Told({ body }: { body: Body }) {
  const report = body.report as unknown as MatchReport | null;
  if (report?.kind !== "duel") return <Waiting body={body} />;
  return (
    <>
      <MatchStatistics
        of={report}
        first={body.players[0]!}
        second={body.players[1]!}
        verdict={report.verdict}
      />
      {report.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
    </>
  );
}

function Waiting({ body }: { body: Body }) {
  if (body.state === "PENDING" || body.state === "RUNNING")
    return (
      <Empty title={body.state === "PENDING" ? "It waits for its turn" : "No whole pair yet"} />
    );
  return (
    <Empty title="No statistics">
      {body.players.length > 2 && <p>They are in the JSON, for more than two players.</p>}
    </Empty>
  );
}

function Facts({ body }: { body: Body }) {
  return (
    <dl class="facts">
      <Fact name="games">
        {count(body.games)} of {body.planned === null ? "?" : count(body.planned)}
      </Fact>
      <Fact name="game">
        {body.env ?? <Value of={null} format={String} why="known when it begins" />}
      </Fact>
      <Fact name="seed">{body.seed}</Fact>
      <Fact name="moves">{body.greedy ? "greedy" : "sampled"}</Fact>
      {body.sprt && (
        <Fact name="sequential test">{`${decimal(body.sprt.elo0)}, ${decimal(body.sprt.elo1)}`}</Fact>
      )}
      <Fact name="asked for">{when(body.created_at)}</Fact>
    </dl>
  );
}

function Cancel({ id, done }: { id: string; done: () => void }) {
  const { busy, problem, send } = useSending();
  const cancel = async () => {
    if (
      await send(() =>
        change("post", "/v1/evaluations/{evaluation_id}/cancel", { path: { evaluation_id: id } }),
      )
    )
      done();
  };
  return (
    <div class="actions">
      <button disabled={busy} onClick={() => void cancel()}>
        Cancel the match
      </button>
      {problem && (
        <p class="wrong" role="alert">
          {problem.message}
        </p>
      )}
    </div>
  );
}

/** What this page has seen of a match, once for each number of games. */
function useLooks(body: Body | undefined): readonly Look[] {
  const [looks, setLooks] = useState<readonly Look[]>([]);
  const { statistics, games } = body ?? {};
  useEffect(() => {
    if (statistics && games)
      setLooks((old) =>
        withLook(old, {
          games,
          score: statistics.score,
          low: statistics.low,
          high: statistics.high,
        }),
      );
  }, [games]);
  return looks;
}

/** looks: by the number of games; where they become too many, one stays of each of so many equal parts of the match, and the newest. */
export function withLook(looks: readonly Look[], look: Look): readonly Look[] {
  const newest = looks.at(-1)?.games ?? 0;
  // Games never become fewer; an answer that was overtaken tells nothing new.
  if (look.games <= newest) return looks;
  const all = [...looks, look];
  if (all.length <= MOST_LOOKS) return all;
  const part = ({ games }: Look) => Math.floor((games * MOST_LOOKS) / (2 * look.games));
  return all.filter(
    (one, index) => one === look || index === 0 || part(one) !== part(all[index - 1]!),
  );
}
