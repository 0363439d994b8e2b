/**
 * `Edits` is the form for values of a population that can be changed once it has begun. It says
 * what they do before they are saved.
 */
import { useState } from "preact/hooks";
import { change, type Got } from "../../api/client";
import { type Config, shownValue, valueAt } from "../../configValues";
import { Field } from "../../ui/Field";
import { useSending } from "../../ui/sending";
import { type EditField, hyperparameterFields, LIVE_FIELDS, RULE_FIELDS } from "./editFields";
import { Effects, Refused, sentence, useForetold } from "./foretold";

type Body = Got<"/v1/populations/{name}">;

/** Returns those behind the rules of PBT that start the trainer again, too. */
function foldedFields({ spec }: Pick<Body, "spec">): readonly EditField[] {
  return [...RULE_FIELDS, ...hyperparameterFields(spec.hyperparameters ?? [])];
}

export function Edits({ body, done }: { body: Body; done: () => void }) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [other, setOther] = useState({ key: "", value: "" });
  const [message, setMessage] = useState("");
  const { busy, problem, send } = useSending();
  const now = wanted(body);
  const folded = foldedFields(body);
  const fields = [...LIVE_FIELDS, ...folded];
  const changed: [string, unknown][] = fields.flatMap(({ key }) =>
    texts[key] !== undefined && texts[key] !== now[key] ? [[key, valueOf(texts[key])]] : [],
  );
  if (other.key.trim() && other.value.trim())
    changed.push([other.key.trim(), valueOf(other.value)]);
  const set = Object.fromEntries(changed);
  const ask = (dryRun: boolean) =>
    change(
      "patch",
      "/v1/populations/{name}",
      { path: { name: body.id }, query: { dry_run: dryRun || undefined } },
      { set },
      body.revision,
    );
  const of = changed.length ? JSON.stringify([body.revision, set]) : null;
  const foretold = useForetold(of, () => ask(true));
  const refused = problem ?? foretold.problem;

  const save = async () => {
    setMessage("");
    const { effects } = await ask(false);
    setTexts({});
    setOther({ key: "", value: "" });
    setMessage(effects.map(sentence).join(" "));
    done();
  };
  const wrong = (key: string) =>
    (refused?.errors ?? [])
      .filter((error) => error.pointer === `/set/${key}`)
      .map((error) => error.detail);
  const placed = [...fields.map(({ key }) => key), other.key.trim()].flatMap(wrong).length;
  const field = ({ key, title, note }: EditField) => (
    <Field key={key} title={title} note={note} wrong={wrong(key)}>
      {(described) => (
        <input
          {...described}
          inputMode="decimal"
          value={texts[key] ?? now[key]}
          onInput={(event) => setTexts((old) => ({ ...old, [key]: event.currentTarget.value }))}
        />
      )}
    </Field>
  );
  return (
    <form
      class="edits"
      aria-label="Edits"
      onSubmit={(event) => {
        event.preventDefault();
        void send(save);
      }}
    >
      <div class="fields">{LIVE_FIELDS.map(field)}</div>
      <details>
        <summary>PBT rules, shares and learning</summary>
        <div class="fields">
          {folded.map(field)}
          <Other
            of={other}
            config={(body.spec.config ?? {}) as Config}
            wrong={wrong(other.key.trim())}
            take={setOther}
          />
        </div>
      </details>
      <Effects of={foretold} waiting={of !== null} />
      {refused && placed === 0 && <Refused problem={refused} />}
      <div class="buttons">
        <button class="primary" disabled={busy || foretold.told === null}>
          Save
        </button>
        <span aria-live="polite" class="good">
          {message}
        </span>
      </div>
    </form>
  );
}

/** A value of any key, for those without a field of their own. */
function Other({
  of,
  config,
  wrong,
  take,
}: {
  of: { key: string; value: string };
  config: Config;
  wrong: readonly string[];
  take: (of: { key: string; value: string }) => void;
}) {
  const there = valueAt(config, of.key.trim().split("."));
  return (
    <>
      <Field title="Any other key" note="such as learning.gamma" wrong={wrong}>
        {(described) => (
          <input
            {...described}
            value={of.key}
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => take({ ...of, key: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field
        title="Its value"
        note={there === undefined ? "a number, a text, true or false" : `now ${shownValue(there)}`}
        wrong={[]}
      >
        {(described) => (
          <input
            {...described}
            value={of.value}
            onInput={(event) => take({ ...of, value: event.currentTarget.value })}
          />
        )}
      </Field>
    </>
  );
}

/** Returns the values that are in force, or wait to be. */
export function wanted(body: Pick<Body, "spec">): Record<string, string> {
  const pending = new Map(
    body.spec.pending_edits.map((word) => [
      word.slice(0, word.indexOf("=")),
      word.slice(word.indexOf("=") + 1),
    ]),
  );
  const config = (body.spec.config ?? {}) as Config;
  return Object.fromEntries(
    [...LIVE_FIELDS, ...foldedFields(body)].map(({ key }) => [
      key,
      pending.get(key) ?? String(valueAt(config, key.split(".")) ?? ""),
    ]),
  );
}

/** Returns a number or a truth value, or the text where it is none, for the service to judge. */
function valueOf(text: string): unknown {
  const plain = text.replaceAll(/[_ ]/g, "");
  if (plain === "true" || plain === "false") return plain === "true";
  return /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : text.trim();
}
