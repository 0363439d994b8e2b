/**
 * `PopulationRow` is a population in the list: what it is, how far, how strong, and what PBT did.
 */
import type { Got } from "../api/client";
import type { Summary } from "../api/assessment";
import { to } from "../address";
import { claimOf, conclusionOf, countedBy, SIGNS } from "../assessment";
import { ago, count, duration, short } from "../format";
import { Progress } from "../ui/Progress";
import { Spark } from "../ui/Spark";
import { Value } from "../ui/value";
import { Warnings } from "../ui/Warnings";
import { PopulationActions } from "./PopulationActions";
import { StateChip } from "./StateChip";

type Population = Got<"/v1/populations">["items"][number];

export const LIST_COLUMNS = [
  "name",
  "is it learning",
  "progress",
  "best",
  "last PBT event",
  "",
] as const;

export function PopulationRow({ of, again }: { of: Population; again: () => void }) {
  const { status, spec, summary } = of;
  return (
    <tr>
      <td data-name="name">
        <div>
          <a class="strong" href={to(["populations", of.id])}>
            {of.id}
          </a>
          <p class="note">
            {`${summary.game}, ${summary.members} ${summary.members === 1 ? "member" : "members"}`}
          </p>
        </div>
      </td>
      <td data-name="is it learning">
        <div>
          <StateChip status={status} /> <Concluded of={summary} state={status.state} />
          {status.state === "failed" && <p class="wrong">{status.message}</p>}
          <Warnings of={status.warnings} />
          {spec.pending_edits.length > 0 && <p class="note">edits wait to be taken</p>}
        </div>
      </td>
      <td data-name="progress">
        <Far of={of} />
      </td>
      <td data-name="best">
        <Best of={summary} />
      </td>
      <td data-name="last PBT event">
        {summary.last_pbt ? (
          <span class="event">
            {`${summary.last_pbt.member} ${summary.last_pbt.text}`}{" "}
            <small>{ago(summary.last_pbt.time)}</small>
          </span>
        ) : (
          <Value of={null} format={String} why="PBT has decided nothing yet" />
        )}
      </td>
      <td>
        <PopulationActions name={of.id} state={status.state} done={again} />
      </td>
    </tr>
  );
}

function Concluded({ of, state }: { of: Summary; state: string }) {
  if (of.conclusion === null) return <p class="note">being assessed</p>;
  const { level, title } = conclusionOf(of.conclusion, state, of.flat_since);
  return (
    <p class={`concluded text-${level}`} title={of.sentence}>
      <span class="sign" aria-hidden="true">
        {SIGNS[level]}
      </span>{" "}
      {title}
    </p>
  );
}

function Far({ of: { id, status, summary } }: { of: Population }) {
  const trained = status.members.length > 0;
  return (
    <div>
      {summary.progress !== null && (
        <Progress share={summary.progress} label={`of the goal of ${id}`} />
      )}
      <p class="note">
        <Value of={trained ? status.frames : null} format={count} why="it has not trained yet" />
        {trained && " frames"}
        {status.state === "running" &&
          summary.seconds_left !== null &&
          `, ${duration(summary.seconds_left)} left`}
      </p>
    </div>
  );
}

/** Shows the best with its number, of how many, and how it went. */
function Best({ of: { unit, best, trend } }: { of: Summary }) {
  if (!best || !unit)
    return <Value of={null} format={String} why="none has enough evaluation games yet" />;
  const { name, format } = countedBy(unit);
  const { text, bound } = claimOf(best, format);
  return (
    <div class="best">
      <div>
        <strong class="number">{text}</strong> <small>{name}</small>{" "}
        <small class="number">{bound}</small>
        <p class="note">{`${short(best.player)}, best of ${best.of}`}</p>
      </div>
      <Spark points={trend} format={format} label={`${name} so far`} />
    </div>
  );
}
