/** `FoldedTable` is a table whose first rows are shown; the others fold. */
import { Fold } from "./Fold";
import { narrow } from "./screen";
import { Table, type TableOf } from "./table";

/** The part of the first rows that is shown where each row is a card, which is higher. */
const CARDS = 0.3;
/** So few rows do not fold: the fold would be as high as they are. */
const FEW = 1;

export function FoldedTable<Row>({
  first,
  what,
  ...table
}: TableOf<Row> & {
  /** How many rows are always shown; of cards on a phone fewer. */
  first: number;
  /** What the rows are, in "54 more members". */
  what: string;
}) {
  const { rows, label, cards } = table;
  const asked = cards && narrow.value ? Math.ceil(CARDS * first) : first;
  const shown = rows.length - asked <= FEW ? rows.length : asked;
  const more = rows.length - shown;
  return (
    <>
      <Table {...table} rows={rows.slice(0, shown)} />
      {more > 0 && (
        <Fold summary={`${more} more ${what}`}>
          {() => <Table {...table} label={`${label}, the others`} rows={rows.slice(shown)} />}
        </Fold>
      )}
    </>
  );
}
