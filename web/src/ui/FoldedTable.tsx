/** `FoldedTable` is a table whose first rows are shown; the others fold. */
import { useState } from "preact/hooks";
import { Table, type TableOf } from "./table";

export function FoldedTable<Row>({
  first,
  what,
  ...table
}: TableOf<Row> & {
  /** How many rows are always shown. */
  first: number;
  /** What the rows are, in "54 more members". */
  what: string;
}) {
  const [open, setOpen] = useState(false);
  const { rows, label } = table;
  const more = rows.length - first;
  return (
    <>
      <Table {...table} rows={rows.slice(0, first)} />
      {more > 0 && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{`${more} more ${what}`}</summary>
          {open && <Table {...table} label={`${label}, the others`} rows={rows.slice(first)} />}
        </details>
      )}
    </>
  );
}
