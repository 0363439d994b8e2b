/** `Membership` is the form with which members join and leave a population, also while it trains. */
import { useState } from "preact/hooks";
import { change, type Got } from "../../api/client";
import { useGet } from "../../api/useGet";
import { Field } from "../../ui/Field";
import { useSending } from "../../ui/sending";
import { Shown } from "../../ui/state";
import { Effects, Refused, sentence, useForetold } from "./foretold";

type Body = Got<"/v1/populations/{name}">;
type Members = Got<"/v1/populations/{name}/members">["items"];

const JOINS = "join";
const SNAPSHOT = "snapshot";

export function Membership({ body, done }: { body: Body; done: () => void }) {
  const name = body.id;
  const found = useGet("/v1/populations/{name}/members", { path: { name } }, { population: name });
  return (
    <Shown query={found} what="the members">
      {({ items }) => (
        <Form
          body={body}
          members={items.filter((one) => !one.left)}
          done={() => {
            found.again();
            done();
          }}
        />
      )}
    </Shown>
  );
}

function Form({ body, members, done }: { body: Body; members: Members; done: () => void }) {
  const roles = [...new Set(members.map((one) => one.role))];
  const [what, setWhat] = useState("");
  const [role, setRole] = useState("");
  const [from, setFrom] = useState("");
  const [snapshot, setSnapshot] = useState("");
  const [message, setMessage] = useState("");
  const { busy, problem, send } = useSending();
  const plays = role || roles[0]!;
  const weights = from === SNAPSHOT ? snapshot.trim() : from;
  const incomplete = what === "" || (what === JOINS && from === SNAPSHOT && weights === "");
  const ask = (dryRun: boolean) => {
    const query = { dry_run: dryRun || undefined };
    return what === JOINS
      ? change(
          "post",
          "/v1/populations/{name}/members",
          { path: { name: body.id }, query },
          { role: plays, weights: weights || null },
          body.revision,
        )
      : change(
          "delete",
          "/v1/populations/{name}/members/{member}",
          { path: { name: body.id, member: what }, query },
          undefined,
          body.revision,
        );
  };
  const of = incomplete ? null : JSON.stringify([body.revision, what, plays, weights]);
  const foretold = useForetold(of, () => ask(true));
  const refused = problem ?? foretold.problem;
  const act = async () => {
    setMessage("");
    const answer = await ask(false);
    setWhat("");
    setMessage((answer.effects ?? []).map(sentence).join(" "));
    done();
  };
  return (
    <form
      class="edits"
      aria-label="Members"
      onSubmit={(event) => {
        event.preventDefault();
        void send(act);
      }}
    >
      <div class="fields">
        <Field title="Change" note="who learns from now on" wrong={[]}>
          {(described) => (
            <select
              {...described}
              value={what}
              onChange={(event) => setWhat(event.currentTarget.value)}
            >
              <option value="">choose …</option>
              <option value={JOINS}>a new member joins</option>
              {members.map((one) => (
                <option key={one.name} value={one.name}>{`${one.name} leaves`}</option>
              ))}
            </select>
          )}
        </Field>
        {what === JOINS && roles.length > 1 && (
          <Field title="Role" note="which seats it plays" wrong={[]}>
            {(described) => (
              <select
                {...described}
                value={plays}
                onChange={(event) => setRole(event.currentTarget.value)}
              >
                {roles.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            )}
          </Field>
        )}
        {what === JOINS && (
          <Field title="Weights" note="what it begins with" wrong={[]}>
            {(described) => (
              <select
                {...described}
                value={from}
                onChange={(event) => setFrom(event.currentTarget.value)}
              >
                <option value="">new ones</option>
                {members
                  .filter((one) => one.role === plays)
                  .map((one) => (
                    <option key={one.name} value={one.name}>{`a copy of ${one.name}`}</option>
                  ))}
                <option value={SNAPSHOT}>those of a snapshot</option>
              </select>
            )}
          </Field>
        )}
        {what === JOINS && from === SNAPSHOT && (
          <Field title="Snapshot" note="its whole id, from its page" wrong={[]}>
            {(described) => (
              <input
                {...described}
                value={snapshot}
                onInput={(event) => setSnapshot(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
      </div>
      <Effects of={foretold} waiting={of !== null} />
      {refused && <Refused problem={refused} />}
      <div class="buttons">
        <button class="primary" disabled={busy || foretold.told === null}>
          {what === JOINS || what === "" ? "Add the member" : `Take ${what} out`}
        </button>
        <span aria-live="polite" class="good">
          {message}
        </span>
      </div>
    </form>
  );
}
