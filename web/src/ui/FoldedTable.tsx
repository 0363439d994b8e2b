/** `FoldedTable` is a table whose first rows are shown; the others fold. */
import { Fold } from "./Fold";
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
  const { rows, label } = table;
  const more = rows.length - first;
  return (
    <>
      <Table {...table} rows={rows.slice(0, first)} />
      {more > 0 && (
        <Fold summary={`${more} more ${what}`}>
          {() => <Table {...table} label={`${label}, the others`} rows={rows.slice(first)} />}
        </Fold>
      )}
    </>
  );
}
