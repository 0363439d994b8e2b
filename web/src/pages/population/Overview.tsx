/**
 * `Overview` is the first screen of a population: the verdict, how strong it became, its members,
 * what happened last, and its log.
 */
import type { Got } from "../../api/client";
import type { Assessment } from "../../api/assessment";
import { MOST_SNAPSHOTS, OFTEN_MS, SELDOM_MS, useGet } from "../../api/useGet";
import { count, duration } from "../../format";
import { Empty, Failed, Loading, Shown } from "../../ui/state";
import { Fact, Value } from "../../ui/value";
import { Warnings } from "../../ui/Warnings";
import { Members } from "./Members";
import { Newest } from "./Newest";
import { RatingChart } from "./RatingChart";
import { Verdict } from "./Verdict";

type Body = Got<"/v1/populations/{name}">;

export function Overview({ body }: { body: Body }) {
  const { id, status, spec } = body;
  const running = status.state === "running";
  const everyMs = running ? SELDOM_MS : 0;
  const found = useGet(
    "/v1/populations/{name}/assessment",
    { path: { name: id } },
    { everyMs: running ? 2 * OFTEN_MS : 0, population: id },
  );
  return (
    <>
      {status.state === "failed" && (
        <div class="state failed" role="alert">
          <p class="state-title">It failed{status.reason && `: ${status.reason}`}</p>
          <p>{status.message}</p>
        </div>
      )}
      <Warnings of={othersThan(found.value, status.warnings)} />
      {spec.pending_edits.length > 0 && (
        <p class="warning">Edits that are not in force yet: {spec.pending_edits.join(", ")}</p>
      )}
      <div class="overview">
        <div>
          <Shown query={found} what="the verdict">
            {(assessment) => <Verdict of={assessment} body={body} />}
          </Shown>
          <Strength name={id} everyMs={everyMs} />
        </div>
        <div>
          {found.value && <Members of={withFrames(found.value, status.members)} />}
          <Newest name={id} everyMs={everyMs} />
          <Facts body={body} />
          <Log lines={status.last_log_lines ?? []} open={status.state === "failed"} />
        </div>
      </div>
    </>
  );
}

/** Returns the warnings that the verdict does not tell: all of them while there is none. */
function othersThan(of: Assessment | undefined, warnings: readonly string[]): string[] {
  const told = new Set(of?.findings.map((one) => one.text));
  return warnings.filter((one) => !told.has(one));
}

/** Takes frames from the status, which is asked for more often than the assessment. */
function withFrames(of: Assessment, newest: Body["status"]["members"]): Assessment {
  const now = new Map(newest.map((one) => [one.name, one.frames]));
  const members = of.members.map((one) => ({ ...one, frames: now.get(one.member) ?? one.frames }));
  return { ...of, members };
}

/** Draws strength over frames, and the win rate against a player that does not change. */
function Strength({ name, everyMs }: { name: string; everyMs: number }) {
  const of = { everyMs, population: name };
  const ratings = useGet("/v1/ratings", { query: { population: name } }, of);
  const matrix = useGet("/v1/win-matrix", { query: { population: name } }, of);
  const snapshots = useGet(
    "/v1/populations/{name}/snapshots",
    { path: { name }, query: { limit: MOST_SNAPSHOTS } },
    of,
  );
  const history = useGet("/v1/populations/{name}/hyperparameters", { path: { name } }, of);
  const problem = ratings.problem ?? snapshots.problem;
  if (ratings.value && snapshots.value)
    return (
      <RatingChart
        report={ratings.value}
        snapshots={snapshots.value}
        matrix={matrix.value}
        history={history.value}
      />
    );
  return problem ? (
    <Failed problem={problem} again={ratings.problem ? ratings.again : snapshots.again} />
  ) : (
    <Loading what="strength over frames" />
  );
}

function Facts({ body: { status } }: { body: Body }) {
  const trained = status.members.length > 0;
  return (
    <dl class="facts line">
      <Fact name="frames of all members">
        <Value of={trained ? status.frames : null} format={count} why="it has not trained yet" />
      </Fact>
      <Fact name={`${status.state} for`}>
        {duration(Date.now() / 1000 - status.since)}
        {status.state !== "failed" && <small>{status.message}</small>}
      </Fact>
      <Fact name="newest checkpoint">
        {status.last_checkpoint ?? <Value of={null} format={String} why="none was saved yet" />}
      </Fact>
    </dl>
  );
}

/** Shows the end of the log. It folds, but for one that failed. */
function Log({ lines, open }: { lines: readonly string[]; open: boolean }) {
  return (
    <details class="fold" open={open}>
      <summary>Log</summary>
      {lines.length ? (
        <pre tabIndex={0}>{lines.join("\n")}</pre>
      ) : (
        <Empty title="No log lines">
          <p>Its trainer has not written anything while this service watched.</p>
        </Empty>
      )}
    </details>
  );
}
