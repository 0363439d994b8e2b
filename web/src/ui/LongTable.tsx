/** `LongTable` is a table whose first rows stand on the page, and whose others are folded. */
import { Fold } from "./Fold";
import { type Column, Table } from "./table";

/** So many rows fit on a screen. */
export const FIRST_ROWS = 20;

export function LongTable<Row>({
  label,
  columns,
  rows,
  id,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  id: (row: Row) => string;
}) {
  const more = rows.length - FIRST_ROWS;
  return (
    <>
      <Table label={label} columns={columns} rows={rows.slice(0, FIRST_ROWS)} id={id} />
      {more > 0 && (
        <Fold summary={`${more} more`}>
          {() => (
            <Table
              label={`${label}, continued`}
              columns={columns}
              rows={rows.slice(FIRST_ROWS)}
              id={id}
            />
          )}
        </Fold>
      )}
    </>
  );
}
