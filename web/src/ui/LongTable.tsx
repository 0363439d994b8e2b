/** `LongTable` is a table whose first rows stand on the page, and whose others are folded. */
import { Fold } from "./Fold";
import { Table, type TableOf } from "./table";

/** So many rows fit on a screen. */
export const FIRST_ROWS = 20;

export function LongTable<Row>({
  first = FIRST_ROWS,
  ...table
}: TableOf<Row> & {
  /** How many rows stand on the page; fewer where each is high. */
  first?: number;
}) {
  const { rows, label } = table;
  const more = rows.length - first;
  return (
    <>
      <Table {...table} rows={rows.slice(0, first)} />
      {more > 0 && (
        <Fold summary={`${more} more`}>
          {() => <Table {...table} label={`${label}, continued`} rows={rows.slice(first)} />}
        </Fold>
      )}
    </>
  );
}
