/** `Figure` is a heading, a picture, and the same as numbers to read and to save. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Downloads, Pictures } from "./Downloads";
import { PicturedBy, type Pictured } from "./pictured";
import { type Column, Table } from "./table";

const MOST_ROWS = 500;

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
  /** The rows, or a function where they are many: it is called when a person opens the numbers. */
  rows: readonly Row[] | (() => readonly Row[]);
  children: ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const pictured = useRef<Pictured>({ shown: null });
  return (
    <section class="figure">
      <h3>{title}</h3>
      {note && <p class="note">{note}</p>}
      <PicturedBy.Provider value={pictured.current}>{children}</PicturedBy.Provider>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Numbers</summary>
        {open && (
          <>
            <Pictures title={title} of={pictured.current} />
            <Numbers
              title={title}
              columns={columns}
              rows={typeof rows === "function" ? rows() : rows}
            />
          </>
        )}
      </details>
    </section>
  );
}

function Numbers<Row>({
  title,
  columns,
  rows,
}: {
  title: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
}) {
  return (
    <>
      <Downloads name={title} columns={columns} rows={rows} />
      <Table label={title} columns={columns} rows={rows.slice(0, MOST_ROWS)} />
      {rows.length > MOST_ROWS && (
        <p class="note">
          The first {MOST_ROWS} of {rows.length} rows; the files have all of them.
        </p>
      )}
    </>
  );
}
