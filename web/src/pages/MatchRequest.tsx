/**
 * `MatchRequest` is the page of a match that was asked for here. The service plays it, and the page
 * shows how the interval of the score shrinks.
 */
import { useEffect, useState } from "preact/hooks";
import { change, type Got } from "../api/client";
import { session } from "../api/session";
import { OFTEN_MS, useGet } from "../api/useGet";
import { count, decimal, when } from "../format";
import { together } from "../pairs";
import { to } from "../address";
import { countedIn, type Headline, headlineOf } from "../strength";
import { Chart } from "../ui/Chart";
import { saveFile } from "../ui/Downloads";
import { Figure } from "../ui/Figure";
import { useSending } from "../ui/sending";
import { Empty, Shown } from "../ui/state";
import type { Column } from "../ui/table";
import { Fact, Value } from "../ui/value";
import { MatchStatistics } from "./MatchStatistics";

type Body = Got<"/v1/evaluations/{evaluation_id}">;

/** The score, or the margin where margins decide, after a number of games. */
interface ScorePoint {
  games: number;
  value: number;
  low: number | null;
  high: number | null;
}

/** More points than a chart has pixels to show. */
const MOST_POINTS = 400;

/** Returns the columns of the numbers below the chart. */
function scoreColumns({ name, format }: Headline): readonly Column<ScorePoint>[] {
  const number = (of: string, value: (row: ScorePoint) => number | null): Column<ScorePoint> => ({
    name: of,
    value,
    show: (row) => <Value of={value(row)} format={format} why="the games give no interval" />,
    numeric: true,
  });
  return [
    { name: "games", value: (row) => row.games, numeric: true },
    number(name.toLowerCase(), (row) => row.value),
    number("low", (row) => row.low),
    number("high", (row) => row.high),
  ];
}

export function MatchRequest({ id }: { id: string }) {
  const [over, setOver] = useState(false);
  const found = useGet(
    "/v1/evaluations/{evaluation_id}",
    { path: { evaluation_id: id } },
    { everyMs: over ? 0 : OFTEN_MS / 2 },
  );
  const points = useScorePoints(found.value);
  const ended = found.value && found.value.state !== "PENDING" && found.value.state !== "RUNNING";
  useEffect(() => setOver(Boolean(ended)), [ended]);
  return (
    <Shown query={found} what="the match">
      {(body) => (
        <>
          <div class="heading">
            <div>
              <h1>{together(body.players, body.objective)}</h1>
              <span class={`chip chip-${body.state}`}>{body.state.toLowerCase()}</span>
            </div>
            {!ended && session.value === "admin" && <Cancel id={id} done={found.again} />}
          </div>
          {body.message && <p class={body.state === "FAILED" ? "wrong" : "note"}>{body.message}</p>}
          <Numbers body={body} />
          <Facts body={body} />
          {points.length > 1 && body.statistics && (
            <ScoreFigure
              points={points}
              of={headlineOf(body.statistics)}
              first={body.players[0]!}
            />
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

function ScoreFigure({
  points,
  of,
  first,
}: {
  points: readonly ScorePoint[];
  of: Headline;
  first: string;
}) {
  return (
    <Figure
      title={`${of.name} as games came in`}
      note="with its 95 % interval, as this page saw it"
      columns={scoreColumns(of)}
      rows={points}
    >
      <Chart
        label={`${of.name} over games`}
        lines={[
          {
            name: first,
            colour: 0,
            x: points.map((point) => point.games),
            y: points.map((point) => point.value),
            low: points.map((point) => point.low),
            high: points.map((point) => point.high),
          },
        ]}
        format={of.tick}
        unit="games"
      />
    </Figure>
  );
}

/** Shows the numbers so far. */
function Numbers({ body }: { body: Body }) {
  const { report } = body;
  if (!report) return <Waiting body={body} />;
  if (report.kind !== "duel") {
    return (
      <>
        {[report.verdict, ...report.notes].map((text) => (
          <p key={text} class="note">
            {text}
          </p>
        ))}
      </>
    );
  }
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
      <Fact name="seed">
        {body.seed}
        {body.asked_seed !== body.seed && ` (from ${body.asked_seed}, which was asked for)`}
      </Fact>
      <Fact name="decided by">
        {body.objective ? (
          countedIn(body.objective).decides
        ) : (
          <Value of={null} format={String} why="known when it begins" />
        )}
      </Fact>
      {body.fresh && <Fact name="ratings">its games are fresh: they count in none</Fact>}
      <Fact name="moves">{body.greedy ? "greedy" : "sampled"}</Fact>
      {body.sprt && (
        <Fact name="sequential test">
          {`${decimal(body.sprt.elo0)}, ${decimal(body.sprt.elo1)}`}
        </Fact>
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

/** Returns the scores that this page has seen, one for each number of games. */
function useScorePoints(body: Body | undefined): readonly ScorePoint[] {
  const [points, setPoints] = useState<readonly ScorePoint[]>([]);
  const { statistics, games } = body ?? {};
  useEffect(() => {
    if (statistics && games) {
      const { value, low, high } = headlineOf(statistics);
      setPoints((old) => withPoint(old, { games, value, low, high }));
    }
  }, [games]);
  return points;
}

/**
 * Adds a point to points that are ordered by games. With more than `MOST_POINTS` each of several
 * equal parts of the match keeps one, and the newest stays.
 */
export function withPoint(points: readonly ScorePoint[], point: ScorePoint): readonly ScorePoint[] {
  const newest = points.at(-1)?.games ?? 0;
  // The number of games never falls: an answer that was overtaken brings nothing new.
  if (point.games <= newest) return points;
  const all = [...points, point];
  if (all.length <= MOST_POINTS) return all;
  const part = ({ games }: ScorePoint) => Math.floor((games * MOST_POINTS) / (2 * point.games));
  return all.filter(
    (one, index) => one === point || index === 0 || part(one) !== part(all[index - 1]!),
  );
}
