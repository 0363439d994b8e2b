/**
 * `Edits` is the form for values of a population that can be changed at any time. A training takes
 * them at its next rest, without a new start.
 */
import { useState } from "preact/hooks";
import { change, type Got, type Schemas } from "../../api/client";
import { Field } from "../../ui/Field";
import { useSending } from "../../ui/sending";

type Body = Got<"/v1/populations/{name}">;
type Config = Schemas["RunConfig"];

const FIELDS = [
  {
    key: "stop_at_frames",
    of: (config: Config) => config.stop_at_frames,
    title: "Stop at frames",
    note: "frames on each member's own clock",
  },
  {
    key: "pbt.period_frames",
    of: (config: Config) => config.pbt?.period_frames,
    title: "PBT period",
    note: "frames between two rounds of a member",
  },
  {
    key: "evaluation.share",
    of: (config: Config) => config.evaluation?.share,
    title: "Evaluation share",
    note: "0 to 1 of all games: between frozen snapshots, for the ratings",
  },
  {
    key: "snapshots.every_frames",
    of: (config: Config) => config.snapshots?.every_frames,
    title: "Snapshot every",
    note: "frames between two snapshots of a member",
  },
  {
    key: "snapshots.keep_newest",
    of: (config: Config) => config.snapshots?.keep_newest,
    title: "Newest snapshots kept",
    note: "how many of the newest keep their weights",
  },
  {
    key: "snapshots.thinned_every",
    of: (config: Config) => config.snapshots?.thinned_every,
    title: "Older snapshots kept",
    note: "every n-th of the older ones keeps its weights",
  },
] as const;

type Key = (typeof FIELDS)[number]["key"];

export function Edits({ body, done }: { body: Body; done: () => void }) {
  const [texts, setTexts] = useState<Partial<Record<Key, string>>>({});
  const [message, setMessage] = useState("");
  const { busy, problem, send } = useSending();
  const now = wanted(body);
  const changed = FIELDS.flatMap(({ key }) =>
    texts[key] !== undefined && texts[key] !== now[key]
      ? [[key, valueOf(texts[key])] as const]
      : [],
  );

  const save = async () => {
    setMessage("");
    const { effects } = await change(
      "patch",
      "/v1/populations/{name}",
      { path: { name: body.id } },
      { set: Object.fromEntries(changed) },
      body.revision,
    );
    setTexts({});
    const taken =
      body.status.state === "running"
        ? "Its trainer takes it at its next rest."
        : "Its next start takes it.";
    setMessage([taken, ...effects.map(sentence)].join(" "));
    done();
  };
  const wrong = (key: Key) =>
    problem?.errors.filter((error) => error.pointer === `/set/${key}`) ?? [];
  const placed = FIELDS.flatMap(({ key }) => wrong(key)).length;
  return (
    <form
      class="edits"
      aria-label="Edits"
      onSubmit={(event) => {
        event.preventDefault();
        void send(save);
      }}
    >
      <div class="fields">
        {FIELDS.map(({ key, title, note }) => (
          <Field
            key={key}
            title={title}
            note={note}
            wrong={wrong(key).map((error) => error.detail)}
          >
            {(described) => (
              <input
                {...described}
                inputMode="decimal"
                value={texts[key] ?? now[key]}
                onInput={(event) =>
                  setTexts((old) => ({ ...old, [key]: event.currentTarget.value }))
                }
              />
            )}
          </Field>
        ))}
      </div>
      {problem && placed === 0 && (
        <p class="wrong" role="alert">
          {problem.status === 412
            ? "It was changed meanwhile: look at the values again, then save."
            : [problem.message, ...problem.errors.map((error) => error.detail)].join(" ")}
        </p>
      )}
      <div class="buttons">
        <button class="primary" disabled={busy || changed.length === 0}>
          Save
        </button>
        <span aria-live="polite" class="good">
          {message}
        </span>
      </div>
    </form>
  );
}

/** Returns the values that are in force, or wait to be. */
export function wanted(body: Pick<Body, "spec">): Record<Key, string> {
  const pending = new Map(
    body.spec.pending_edits.map((word) => [
      word.slice(0, word.indexOf("=")),
      word.slice(word.indexOf("=") + 1),
    ]),
  );
  const { config } = body.spec;
  return Object.fromEntries(
    FIELDS.map(({ key, of }) => [key, pending.get(key) ?? String((config && of(config)) ?? "")]),
  ) as Record<Key, string>;
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** Returns a number, or the text where it is none, for the service to judge. */
function valueOf(text: string): number | string {
  const plain = text.replaceAll(/[_ ]/g, "");
  return /^\d+(\.\d+)?(e\d+)?$/i.test(plain) ? Number(plain) : text;
}
