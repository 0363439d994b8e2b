/**
 * `Verdict` answers four questions at the top of the page of a population: is it learning, which
 * player is the best, what did PBT do, is anything broken.
 */
import type { ComponentChildren } from "preact";
import type { Assessment, Finding } from "../../api/assessment";
import type { Got } from "../../api/client";
import { to } from "../../address";
import {
  changeFormat,
  learnsText,
  claimOf,
  conclusionOf,
  countedBy,
  lastPbtOf,
  restOf,
  SIGNS,
  worstOf,
} from "../../assessment";
import { ago, count, percent, short } from "../../format";
import { Fold } from "../../ui/Fold";
import { Progress } from "../../ui/Progress";
import { Spark } from "../../ui/Spark";
import { useSpeed } from "../../ui/speed";
import { Hint, Value } from "../../ui/value";

/** Findings that are always shown. */
const FIRST = 4;

type Body = Got<"/v1/populations/{name}">;

export function Verdict({ of, body }: { of: Assessment; body: Body }) {
  const { level, title } = conclusionOf(of.conclusion, of.state, of.flat_since);
  return (
    <section class={`verdict level-${level}`} aria-labelledby="verdict">
      <h2 id="verdict">
        <span class="sign" aria-hidden="true">
          {SIGNS[level]}
        </span>{" "}
        {title}
      </h2>
      <p class="sentence" aria-live="polite">
        {of.brief}
      </p>
      <Far of={of} body={body} />
      <dl class="answers">
        <Learning of={of} />
        <Strongest of={of} />
        <Pbt of={of} on={body.spec.config?.pbt.enabled ?? true} />
        <Broken of={of} />
      </dl>
      <Findings of={restOf(of, body.status.message)} population={of.population} />
    </section>
  );
}

/** Shows how far it is, how long it will take, and how fast it goes. */
function Far({ of, body: { status } }: { of: Assessment; body: Body }) {
  const running = status.state === "running";
  const speed = useSpeed(status.frames, running);
  const goal = of.goal_frames === null ? "" : ` of ${count(of.goal_frames)}`;
  return (
    <p class="far">
      {of.progress !== null && <Progress share={of.progress} label="of its goal" />}
      <small>
        <span class="number frames">{`${count(of.frames)}${goal}`}</span> frames of each member
      </small>
      {running && (
        <small>
          <Value of={speed} format={count} why="measured over the next seconds" /> frames/s
        </small>
      )}
    </p>
  );
}

function Answer({ question, children }: { question: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{question}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Shows the name of a role before what is said of it, where there are several. */
function Role({ of, name }: { of: Assessment; name: string }) {
  return of.roles.length > 1 ? <small>{name}: </small> : null;
}

function Learning({ of }: { of: Assessment }) {
  const { name, format } = countedBy(of.unit);
  const change = changeFormat(of.unit);
  return (
    <Answer question="Is it learning?">
      {of.roles.map(({ role, gain, trend }, colour) => (
        <div key={role}>
          <Role of={of} name={role} />
          {gain ? (
            <>
              <strong>{learnsText(of.roles.length > 1 ? null : of.conclusion, gain)}</strong>{" "}
              <strong class="number">{`${change(gain.value)} ${name}`}</strong>
              <small>
                {` [${change(gain.low)}, ${change(gain.high)}]`}
                {` in the last ${count(gain.frames)} frames`}
              </small>
            </>
          ) : (
            <>
              <strong>?</strong> <small>too few games to say</small>
            </>
          )}
          <Spark points={trend} format={format} label={`${name} of the members`} colour={colour} />
        </div>
      ))}
    </Answer>
  );
}

function Strongest({ of }: { of: Assessment }) {
  const { amount, format } = countedBy(of.unit);
  return (
    <Answer question="Who is best?">
      {of.roles.map(({ role, best }) => {
        const claim = best && claimOf(best, format);
        return (
          <p key={role}>
            <Role of={of} name={role} />
            {best ? (
              <>
                <strong>
                  <a href={to(["populations", of.population, "policies", short(best.player)])}>
                    {short(best.player)}
                  </a>
                </strong>{" "}
                <small>
                  {claim && `${amount(claim.text)} ${claim.bound}, `}
                  {`best of ${plural(best.of, "snapshot", "snapshots")}`}
                </small>
              </>
            ) : (
              <>
                <strong>?</strong> <small>no snapshot has enough games yet; it takes 30</small>
              </>
            )}
          </p>
        );
      })}
      <Anchors of={of} />
    </Answer>
  );
}

/** Shows how the best does against each player that does not change. */
function Anchors({ of }: { of: Assessment }) {
  return (
    <>
      {of.anchors.slice(0, 3).map(({ player, score, low, high, games }) => (
        <p key={player} class="anchor">
          <small>
            <span class="number">{percent(score)}</span> against {short(player)}{" "}
            <span class="number">{`[${percent(low, 0)}, ${percent(high, 0)}]`}</span>,{" "}
            {plural(games, "game", "games")}
          </small>
        </p>
      ))}
    </>
  );
}

function Pbt({ of, on }: { of: Assessment; on: boolean }) {
  const copies = plural(of.copies, "copy", "copies");
  const last = lastPbtOf(of.members);
  return (
    <Answer question="What did PBT do?">
      <p>
        <strong>
          {of.copies + of.mutations
            ? `${copies}, ${plural(of.mutations, "mutation", "mutations")}`
            : !on
              ? "It is off"
              : of.state === "finished"
                ? "It changed nothing"
                : "Nothing yet"}
        </strong>
      </p>
      {last?.last_pbt && (
        <p>
          <small>{`${last.member} ${last.last_pbt.text}, ${ago(last.last_pbt.time)}`}</small>
        </p>
      )}
    </Answer>
  );
}

function Broken({ of }: { of: Assessment }) {
  const worst = worstOf(of.findings);
  const updates = of.updates_taken + of.updates_refused;
  return (
    <Answer question="Is anything broken?">
      <p>
        <strong class={`text-${worst?.level ?? "good"}`}>
          {worst === null ? "Nothing was found" : worst.level === "bad" ? "Yes" : "A warning"}
        </strong>
        {worst && (
          <small>
            {" "}
            <Told finding={worst} population={of.population} />
          </small>
        )}
      </p>
      <p>
        <small>
          {updates ? (
            `${of.updates_refused.toLocaleString()} of ${updates.toLocaleString()} updates refused`
          ) : (
            <Hint text="no update yet" why="the first comes when a batch is full" />
          )}
        </small>
      </p>
    </Answer>
  );
}

/** Lists what else is known, with links to the members; of many findings the first are shown. */
function Findings({ of, population }: { of: readonly Finding[]; population: string }) {
  if (of.length === 0) return null;
  const [first, others] = [of.slice(0, FIRST), of.slice(FIRST)];
  return (
    <>
      <ul class="findings" aria-label="Findings">
        {first.map((one) => (
          <Found key={one.text} finding={one} population={population} />
        ))}
      </ul>
      {others.length > 0 && (
        <Fold summary={`${others.length} more findings`}>
          {() => (
            <ul class="findings" aria-label="More findings">
              {others.map((one) => (
                <Found key={one.text} finding={one} population={population} />
              ))}
            </ul>
          )}
        </Fold>
      )}
    </>
  );
}

function Found({ finding, population }: { finding: Finding; population: string }) {
  return (
    <li class={`text-${finding.level}`}>
      <span class="sign" aria-hidden="true">
        {SIGNS[finding.level]}
      </span>
      <span>
        <Told finding={finding} population={population} />
      </span>
    </li>
  );
}

/** Shows the words of a finding; the member that they begin with is a link. */
function Told({ finding: { text, member }, population }: { finding: Finding; population: string }) {
  if (member === null || !text.startsWith(member)) return <>{text}</>;
  return (
    <>
      <a href={to(["populations", population, "policies", member])}>{member}</a>
      {text.slice(member.length)}
    </>
  );
}

function plural(number: number, one: string, many: string): string {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}
