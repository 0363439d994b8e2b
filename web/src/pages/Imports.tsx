/**
 * `Imports` is the page of snapshots from other leagues: what was imported, and for an admin the
 * form that imports one. An error stands beside the file that it is about.
 */
import { useRef, useState } from "preact/hooks";
import { change, type Schemas, ServiceProblem } from "../api/client";
import { session } from "../api/session";
import { upload } from "../api/upload";
import { useGet } from "../api/useGet";
import { bytes, count } from "../format";
import { Confirm } from "../ui/Confirm";
import { Field } from "../ui/Field";
import { Pages, usePage } from "../ui/paging";
import { useSending } from "../ui/sending";
import { Empty, Shown } from "../ui/state";

type Import = Schemas["ImportBody"];
type Name = "name" | "card" | "weights";

const NAMES: readonly Name[] = ["name", "weights", "card"];
const COLUMNS = ["player", "game", "trained as", "frames", "size", ""] as const;

export function Imports() {
  const page = usePage("after");
  const found = useGet(
    "/v1/imports",
    { query: { limit: 100, cursor: page[0] } },
    { everyMs: 0, keep: true },
  );
  return (
    <>
      <h1>Snapshots from other leagues</h1>
      <p class="note">
        An imported snapshot plays in matches, as <code>imported/NAME</code>. It does not train.
      </p>
      <Shown query={found} what="imports">
        {(list) =>
          list.items.length === 0 && !page[0] ? (
            <Empty title="Nothing was imported yet" />
          ) : (
            <>
              <List items={list.items} again={found.again} />
              <Pages of="imports" page={page} next={list.next} first="First" more="More" />
            </>
          )
        }
      </Shown>
      {session.value === "admin" && <Form done={found.again} />}
    </>
  );
}

function List({ items, again }: { items: readonly Import[]; again: () => void }) {
  return (
    <div class="scroll cards" role="region" aria-label="Imports" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {COLUMNS.map((name, index) => (
              <th key={name} scope="col" class={index === 3 || index === 4 ? "right" : ""}>
                {name || <span class="unseen">actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <Row key={one.name} of={one} again={again} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ of: { name, player, card, problem, has_weights }, again }: RowOf) {
  const wrong = problem ?? (has_weights ? null : "its weights are lost: import them again");
  return (
    <tr>
      <td data-name="player">
        {player}
        {wrong && <p class="wrong">{wrong}</p>}
      </td>
      <td data-name="game">{card?.env_name}</td>
      <td data-name="trained as">{card && `${card.population}/${card.member}`}</td>
      <td data-name="frames" class="right">
        {card && count(card.frames)}
      </td>
      <td data-name="size" class="right">
        {card && bytes(card.size_bytes)}
      </td>
      <td>{session.value === "admin" && <Remove name={name} done={again} />}</td>
    </tr>
  );
}

interface RowOf {
  of: Import;
  again: () => void;
}

function Remove({ name, done }: { name: string; done: () => void }) {
  const [asking, setAsking] = useState(false);
  const { busy, problem, send } = useSending();
  const remove = async () => {
    if (await send(() => change("delete", "/v1/imports/{name}", { path: { name } }))) done();
  };
  return (
    <div class="actions">
      <button
        class="quiet"
        disabled={busy}
        aria-label={`Remove ${name}`}
        onClick={() => setAsking(true)}
      >
        Remove
      </button>
      {problem && (
        <p class="wrong" role="alert">
          {problem.message}
        </p>
      )}
      {asking && (
        <Confirm title={`Remove ${name}`} close={() => setAsking(false)} act={() => void remove()}>
          <p>It plays no more matches. The games that it played stay.</p>
        </Confirm>
      )}
    </div>
  );
}

function Form({ done }: { done: () => void }) {
  const [name, setName] = useState("");
  const [named, setNamed] = useState(false);
  const [sent, setSent] = useState<readonly [number, number] | null>(null);
  const [imported, setImported] = useState<string | null>(null);
  const { busy, problem, send } = useSending();
  const cancel = useRef<AbortController | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const wrong = (field: Name) =>
    (problem?.errors ?? [])
      .filter((error) => error.pointer === `/${field}`)
      .map((error) => error.detail);
  const rest = problem && NAMES.every((field) => wrong(field).length === 0) ? problem : null;

  const submit = async () => {
    setImported(null);
    const parts = new FormData(form.current!);
    cancel.current = new AbortController();
    const told = (part: number, all: number) => setSent([part, all]);
    if (await send(() => upload("/v1/imports", parts, told, cancel.current!.signal))) {
      setImported(name);
      setName("");
      setNamed(false);
      form.current?.reset();
      done();
    }
    setSent(null);
  };
  const chosen = (file: File | undefined) => {
    if (file && !named) setName(nameOf(file.name));
  };
  return (
    <form
      ref={form}
      aria-label="Import a snapshot"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <h2>Import a snapshot</h2>
      <p class="note">
        The page of a policy gives both files (weights and card); so does <code>arena export</code>.
      </p>
      <Field title="Weights" note="a .safetensors file" wrong={wrong("weights")}>
        {(described) => (
          <input
            {...described}
            type="file"
            name="weights"
            accept=".safetensors"
            required
            onChange={(event) => chosen(event.currentTarget.files?.[0])}
          />
        )}
      </Field>
      <Field title="Card" note="the .json file that belongs to them" wrong={wrong("card")}>
        {(described) => (
          <input {...described} type="file" name="card" accept=".json,application/json" required />
        )}
      </Field>
      <Field title="Name" note="small letters, digits, - and _" wrong={wrong("name")}>
        {(described) => (
          <input
            {...described}
            name="name"
            value={name}
            required
            maxLength={64}
            onInput={(event) => {
              setName(event.currentTarget.value);
              setNamed(true);
            }}
          />
        )}
      </Field>
      <div aria-live="polite">
        {busy && <Progress sent={sent} />}
        {rest && <Refused problem={rest} />}
        {imported && (
          <p class="good">
            Every check passed: it plays as <code>imported/{imported}</code>.
          </p>
        )}
      </div>
      <div class="buttons">
        {busy && (
          <button type="button" onClick={() => cancel.current?.abort()}>
            Cancel
          </button>
        )}
        <button class="primary" disabled={busy}>
          Import
        </button>
      </div>
    </form>
  );
}

/** Shows how much is sent; then the service checks it, which takes some seconds. */
function Progress({ sent }: { sent: readonly [number, number] | null }) {
  const [part, all] = sent ?? [0, 1];
  if (part < all)
    return (
      <p>
        <label>
          Sending {sent && `${bytes(part)} of ${bytes(all)}`} <progress value={part} max={all} />
        </label>
      </p>
    );
  return <p>Checking size, header, shapes, checksum and every number …</p>;
}

function Refused({ problem }: { problem: ServiceProblem }) {
  return (
    <div class="state failed" role="alert">
      <p class="state-title">{problem.title}</p>
      <p>{problem.detail}</p>
    </div>
  );
}

/** Makes a name of a file's, as a match can name it. */
function nameOf(file: string): string {
  const plain = file.toLowerCase().replace(/\.safetensors$/, "");
  return plain
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^[-_]+|[-_]+$/g, "")
    .slice(0, 64);
}
