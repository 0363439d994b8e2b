/** Small parts that every view uses. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ServiceProblem } from "../api/client";
import { csv, decimal } from "../format";
import { query as address, setQuery } from "../router";

/** A word or a sign and what it means: to be pointed at, heard, or read where it stands when it has the focus (a tap, the Tab key). */
export function Hint({ text, why }: { text: ComponentChildren; why: string }) {
  return (
    <span class="missing" title={why} tabIndex={0}>
      {text}
      <span class="unseen"> ({why})</span>
    </span>
  );
}

/** A number that is there, or a dash that says why not. */
export function Value({ of, format, why }: { of: number | null | undefined; format: (value: number) => string; why: string }) {
  if (of !== null && of !== undefined && Number.isFinite(of)) return <span class="number">{format(of)}</span>;
  return <Hint text="–" why={why} />;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div class="state loading" role="status">
      <p>Loading {what} …</p>
    </div>
  );
}

export function Failed({ problem, again }: { problem: ServiceProblem; again?: () => void }) {
  return (
    <div class="state failed" role="alert">
      <p class="state-title">{problem.title}</p>
      {problem.detail && <p>{problem.detail}</p>}
      {again && <button onClick={again}>Try again</button>}
    </div>
  );
}

interface Asked {
  value: unknown;
  problem: ServiceProblem | null;
}

/** Why something is not there: it has not come yet, it cannot be had, or, where the answer is there, the reason itself. */
export function whyNot({ value, problem }: Asked, reason: string): string {
  if (value !== undefined) return reason;
  return problem ? problem.title : "it is being loaded";
}

/** What a query gave, or why it did not. A newer failure stands above the old value; that the service is away, the badge says once for all. */
export function Shown<T>({
  query,
  what,
  children,
}: {
  query: { value: T | undefined; problem: ServiceProblem | null; again: () => void };
  what: string;
  children: (value: T) => ComponentChildren;
}) {
  if (query.value === undefined) return query.problem ? <Failed problem={query.problem} again={query.again} /> : <Loading what={what} />;
  return (
    <>
      {query.problem && query.problem.status !== 0 && <Failed problem={query.problem} again={query.again} />}
      {children(query.value)}
    </>
  );
}

/** In a list of facts (`dl.facts`). */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

type Cell = string | number | boolean | null | undefined;

export interface Column<Row> {
  name: string;
  /** What stands in the file. */
  value: (row: Row) => Cell;
  /** What stands on the page, where it is more than the value. */
  show?: (row: Row) => ComponentChildren;
  numeric?: boolean;
  /** Why it may not be there. */
  why?: string;
  /** Long text. */
  wide?: boolean;
}

interface TableOf<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  id?: (row: Row) => string;
  /** On a phone each row is a card. */
  cards?: boolean;
}

/** A table that scrolls sideways where it must. */
export function Table<Row>({ label, columns, rows, id, cards = false }: TableOf<Row>) {
  return (
    <div class={cards ? "scroll cards" : "scroll"} role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={column.numeric ? "right" : ""}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={id ? id(row) : index}>
              {columns.map((column) => (
                <td key={column.name} data-name={cards ? column.name : undefined} class={column.numeric ? "right" : column.wide ? "wide" : ""}>
                  {column.show ? column.show(row) : cell(column, row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Of a column that does not say how it is shown. */
function cell<Row>({ value, why }: Column<Row>, row: Row): ComponentChildren {
  const found = value(row);
  if (found === null || found === undefined || Number.isNaN(found)) return <Hint text="–" why={why ?? "there is none"} />;
  return typeof found === "number" && !Number.isInteger(found) ? decimal(found) : String(found);
}

const MOST_ROWS = 500;

/** A heading, a picture, and the same as numbers to read and to take along. */
export function Figure<Row>({
  title,
  note,
  columns,
  rows,
  children,
}: {
  title: string;
  note?: ComponentChildren;
  columns: readonly Column<Row>[];
  /** A function, where they are many and only made when somebody opens them. */
  rows: readonly Row[] | (() => readonly Row[]);
  children: ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  return (
    <section class="figure">
      <h3>{title}</h3>
      {note && <p class="note">{note}</p>}
      {children}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Numbers</summary>
        {open && <Numbers title={title} columns={columns} rows={typeof rows === "function" ? rows() : rows} />}
      </details>
    </section>
  );
}

function Numbers<Row>({ title, columns, rows }: { title: string; columns: readonly Column<Row>[]; rows: readonly Row[] }) {
  return (
    <>
      <Take name={title} columns={columns} rows={rows} />
      <Table label={title} columns={columns} rows={rows.slice(0, MOST_ROWS)} />
      {rows.length > MOST_ROWS && (
        <p class="note">
          The first {MOST_ROWS} of {rows.length} rows; the files have all of them.
        </p>
      )}
    </>
  );
}

/** Rows as files. */
export function Take<Row>({ name, columns, rows }: { name: string; columns: readonly Column<Row>[]; rows: readonly Row[] }) {
  const cells = () => rows.map((row) => columns.map((column) => column.value(row)));
  const names = columns.map((column) => column.name);
  const objects = () => cells().map((row) => Object.fromEntries(row.map((cell, index) => [names[index]!, cell ?? null])));
  return (
    <div class="take">
      <button onClick={() => save(`${name}.csv`, csv(names, cells()), "text/csv")}>CSV</button>
      <button onClick={() => save(`${name}.json`, JSON.stringify(objects(), null, 1), "application/json")}>JSON</button>
    </div>
  );
}

export function save(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, act, children, close }: { title: string; act: () => void; children: ComponentChildren; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title">
      <h2 id="confirm-title">{title}</h2>
      {children}
      <div class="buttons">
        <button onClick={() => dialog.current?.close()}>Cancel</button>
        <button
          class="danger"
          onClick={() => {
            act();
            dialog.current?.close();
          }}
        >
          {title}
        </button>
      </div>
    </dialog>
  );
}

/** One of several views of the same thing; each has an address. */
export function Tabs({ label, tabs, now }: { label: string; tabs: readonly { name: string; href: string; title: string }[]; now: string }) {
  const bar = useRef<HTMLElement>(null);
  useCurrentSeen(bar, now);
  return (
    <nav ref={bar} class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.name} href={tab.href} aria-current={tab.name === now ? "page" : undefined}>
          {tab.title}
        </a>
      ))}
    </nav>
  );
}

/** On a narrow screen a row of links scrolls sideways: so far that the current one is seen. */
export function useCurrentSeen(bar: { current: HTMLElement | null }, now: unknown): void {
  useEffect(() => {
    const current = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current && current) bar.current.scrollLeft = current.offsetLeft - bar.current.offsetLeft - (bar.current.clientWidth - current.offsetWidth) / 2;
  }, [now]);
}

/** Where one is in a list that comes in pages, by the address, and how to go elsewhere. name: of the parameter, one for each list of a view */
export function usePage(name: string): [cursor: string | undefined, go: (cursor: string | undefined) => void] {
  return [address.value.get(name) ?? undefined, (cursor) => setQuery({ [name]: cursor })];
}

/** Below one page of a list: to the next one, and back to the first. */
export function Pages({ of, page: [cursor, go], next, first = "Newest", more = "Older" }: PagesOf) {
  if (!cursor && !next) return null;
  return (
    <div class="buttons">
      {cursor && <button onClick={() => go(undefined)}>{`${first} ${of}`}</button>}
      {next && <button onClick={() => go(next)}>{`${more} ${of}`}</button>}
    </div>
  );
}

interface PagesOf {
  of: string;
  page: ReturnType<typeof usePage>;
  next: string | null;
  first?: string;
  more?: string;
}
