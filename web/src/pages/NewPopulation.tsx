/**
 * `NewPopulation` is the page that makes a population from a template. An error stands beside the
 * field that it is about.
 */
import { useState } from "preact/hooks";
import { change, type Schemas, ServiceProblem } from "../api/client";
import { useGet } from "../api/useGet";
import { go, query, setQuery, to } from "../address";
import { Field } from "../ui/Field";
import { Shown } from "../ui/state";

type Template = Schemas["TemplateBody"];
type Config = Record<string, unknown>;

const FIELDS = [
  {
    pointer: "/config/population/members",
    path: ["population", "members"],
    title: "Members",
    note: "policies that learn together",
  },
  {
    pointer: "/config/stop_at_frames",
    path: ["stop_at_frames"],
    title: "Stop at frames",
    note: "of each member; empty: until it is stopped",
  },
  {
    pointer: "/config/seed",
    path: ["seed"],
    title: "Seed",
    note: "the same seed repeats a run in serial placement",
  },
] as const;

export function NewPopulation() {
  const found = useGet("/v1/templates", {}, { everyMs: 0 });
  return (
    <>
      <h1>New population</h1>
      <Shown query={found} what="templates">
        {(list) => {
          const chosen =
            list.items.find(
              (one) => one.name === (query.value.get("template") ?? "connect_four"),
            ) ?? list.items[0]!;
          return (
            <>
              <label class="field">
                <span>Template</span>
                <select
                  value={chosen.name}
                  onChange={(event) => setQuery({ template: event.currentTarget.value })}
                >
                  {list.items.map((one) => (
                    <option key={one.name}>{one.name}</option>
                  ))}
                </select>
                <small>{chosen.description}</small>
              </label>
              <Form key={chosen.name} template={chosen} />
            </>
          );
        }}
      </Shown>
    </>
  );
}

function Form({ template }: { template: Template }) {
  const [name, setName] = useState(template.name.replaceAll("_", "-"));
  const [text, setText] = useState(() => JSON.stringify(template.config, null, 2));
  const [starts, setStarts] = useState(true);
  const [answer, setAnswer] = useState<ServiceProblem | string | null>(null);
  const [busy, setBusy] = useState(false);
  const config = parsed(text);
  const errors = answer instanceof ServiceProblem ? answer.errors : [];
  const wrong = (pointer: string) =>
    errors.filter((error) => error.pointer === pointer).map((error) => error.detail);
  const placed = new Set<string>(["/name", ...FIELDS.map((field) => field.pointer)]);
  const rest = errors.filter((error) => !placed.has(error.pointer));

  const send = async (dryRun: boolean) => {
    setBusy(true);
    setAnswer(null);
    try {
      await change(
        "post",
        "/v1/populations",
        { query: { dry_run: dryRun || undefined } },
        { name, config, start: !dryRun && starts },
      );
      if (dryRun) setAnswer("Everything is right: it can be made.");
      else return go(to(["populations", name]));
    } catch (error) {
      if (!(error instanceof ServiceProblem)) throw error;
      setAnswer(error);
    }
    setBusy(false);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send(false);
      }}
    >
      <Field title="Name" note="small letters, digits, - and _" wrong={wrong("/name")}>
        {(described) => (
          <input
            {...described}
            value={name}
            required
            maxLength={64}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
      {FIELDS.map(({ pointer, path, title, note }) => (
        <Field key={pointer} title={title} note={note} wrong={wrong(pointer)}>
          {(described) => (
            <input
              {...described}
              inputMode="numeric"
              disabled={config === null}
              value={String(valueAt(config, path) ?? "")}
              onInput={(event) =>
                config &&
                setText(JSON.stringify(withValue(config, path, event.currentTarget.value), null, 2))
              }
            />
          )}
        </Field>
      ))}
      <details open={rest.length > 0}>
        <summary>The whole config</summary>
        <textarea
          aria-label="The whole config as JSON"
          spellcheck={false}
          rows={16}
          value={text}
          aria-invalid={config === null}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {config === null && <p class="wrong">This is not a JSON object.</p>}
      </details>
      <label class="check">
        <input
          type="checkbox"
          checked={starts}
          onChange={(event) => setStarts(event.currentTarget.checked)}
        />{" "}
        Start it at once
      </label>
      <div aria-live="polite">
        {answer instanceof ServiceProblem && (rest.length > 0 || errors.length === 0) && (
          <div class="state failed">
            <p class="state-title">{answer.title}</p>
            {errors.length === 0 && <p>{answer.detail}</p>}
            <ul>
              {rest.map((error) => (
                <li key={error.pointer + error.detail}>{error.detail}</li>
              ))}
            </ul>
          </div>
        )}
        {typeof answer === "string" && <p class="good">{answer}</p>}
      </div>
      <div class="buttons">
        <button type="button" disabled={busy || config === null} onClick={() => void send(true)}>
          Check
        </button>
        <button class="primary" disabled={busy || config === null}>
          {busy ? "Checking …" : "Create"}
        </button>
      </div>
    </form>
  );
}

function parsed(text: string): Config | null {
  try {
    const found: unknown = JSON.parse(text);
    return found !== null && typeof found === "object" && !Array.isArray(found)
      ? (found as Config)
      : null;
  } catch {
    return null;
  }
}

function valueAt(config: Config | null, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (table, key) => (table && typeof table === "object" ? (table as Config)[key] : undefined),
    config,
  );
}

/**
 * Returns a copy of a config with one value set. An empty text removes the value; a text that is no
 * whole number is left for the service to judge.
 */
function withValue(config: Config, [key, ...rest]: readonly string[], text: string): Config {
  if (key === undefined) return config;
  if (rest.length)
    return { ...config, [key]: withValue((config[key] ?? {}) as Config, rest, text) };
  const plain = text.replaceAll(/[_ ]/g, "");
  const { [key]: _, ...others } = config;
  return plain === "" ? others : { ...config, [key]: /^\d+$/.test(plain) ? Number(plain) : text };
}
