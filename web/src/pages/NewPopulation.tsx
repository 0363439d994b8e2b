/**
 * `NewPopulation` is the page that makes a population from a template, or as another population was
 * made. It shows what differs from that. An error stands beside the field that it is about.
 */
import { useEffect, useState } from "preact/hooks";
import { change, ServiceProblem } from "../api/client";
import { useGet } from "../api/useGet";
import { go, query, setQuery, to } from "../address";
import { changedValues, type Config, shownValue, valueAt, withValue } from "../configValues";
import { Field } from "../ui/Field";
import { Failed, Loading, Shown } from "../ui/state";
import { type Column, Table } from "../ui/table";

/** What a new population begins as: a template, or the config of another population. */
interface Original {
  name: string;
  title: string;
  config: Config;
}
type Changed = ReturnType<typeof changedValues>[number];

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
  const original = query.value.get("clone");
  return (
    <>
      <h1>{original ? `A clone of ${original}` : "New population"}</h1>
      {original ? <Clone key={original} of={original} /> : <FromTemplate />}
    </>
  );
}

function FromTemplate() {
  const found = useGet("/v1/templates", {}, { everyMs: 0 });
  return (
    <Shown query={found} what="templates">
      {(list) => {
        const chosen =
          list.items.find((one) => one.name === (query.value.get("template") ?? "connect_four")) ??
          list.items[0]!;
        const { name, description, config } = chosen;
        return (
          <>
            <label class="field">
              <span>Template</span>
              <select
                value={name}
                onChange={(event) => setQuery({ template: event.currentTarget.value })}
              >
                {list.items.map((one) => (
                  <option key={one.name}>{one.name}</option>
                ))}
              </select>
              <small>{description}</small>
            </label>
            <Form
              key={name}
              name={name.replaceAll("_", "-")}
              original={{ name, title: `the template ${name}`, config: config as Config }}
            />
          </>
        );
      }}
    </Shown>
  );
}

/** Begins with the config of another population, as the service would clone it. */
function Clone({ of }: { of: string }) {
  const [found, setFound] = useState<Config | ServiceProblem | null>(null);
  const name = nextName(of);
  const ask = async () => {
    setFound(null);
    try {
      const place = { path: { name: of }, query: { dry_run: true } };
      const made = await change("post", "/v1/populations/{name}/clone", place, { name });
      setFound("config" in made ? (made.config as Config) : null);
    } catch (error) {
      if (!(error instanceof ServiceProblem)) throw error;
      setFound(error);
    }
  };
  useEffect(() => void ask(), [of]);
  if (found instanceof ServiceProblem) return <Failed problem={found} again={() => void ask()} />;
  if (found === null) return <Loading what={`the config of ${of}`} />;
  return (
    <>
      <p class="note">
        It has as many members as <a href={to(["populations", of])}>{of}</a>, which begin with new
        weights.
      </p>
      <Form name={name} original={{ name: of, title: of, config: found }} />
    </>
  );
}

/** first -> first-2, first-2 -> first-3 */
function nextName(name: string): string {
  const found = /^(.*)-(\d+)$/.exec(name);
  const next = found ? `${found[1]}-${Number(found[2]) + 1}` : `${name}-2`;
  return next.slice(0, 64);
}

/** Shows what the config that is to be made has otherwise than its original. */
function Differences({ original, config }: { original: Original; config: Config }) {
  const changed = changedValues(original.config, config);
  const cell = (value: unknown) => <code>{shownValue(value)}</code>;
  const columns: readonly Column<Changed>[] = [
    { name: "key", value: (one) => one.key, show: (one) => <code>{one.key}</code> },
    { name: "new", value: (one) => shownValue(one.after), show: (one) => cell(one.after) },
    {
      name: original.name,
      value: (one) => shownValue(one.before),
      show: (one) => cell(one.before),
    },
  ];
  return (
    <div aria-live="polite">
      {changed.length ? (
        <Table
          label={`Differences from ${original.title}`}
          columns={columns}
          rows={changed}
          id={(one) => one.key}
        />
      ) : (
        <p class="note">It is as {original.title} so far.</p>
      )}
    </div>
  );
}

function Form({ name: first, original }: { name: string; original: Original }) {
  const [name, setName] = useState(first);
  const [text, setText] = useState(() => JSON.stringify(original.config, null, 2));
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
      {config && <Differences original={original} config={config} />}
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
