/** These components show how strong a player is, in what the report of its ratings counts. */
import type { Objective } from "../api/reports";
import { countedIn, type ReportRow, type Strength as Found, strengthOf } from "../strength";
import type { Column } from "../ui/table";
import { Hint, Value } from "../ui/value";

/** Shows the number, or a dash with the reason why it is missing. */
export function Strength({ of }: { of: Found }) {
  return of.text === null ? (
    <Hint text="–" why={of.why} />
  ) : (
    <span class="number">{of.text}</span>
  );
}

/** Returns the columns of the number and both ends of its interval. */
export function strengthColumns<Row>(
  objective: Objective,
  rowOf: (row: Row) => ReportRow,
): readonly Column<Row>[] {
  const { name, format } = countedIn(objective);
  const of = (row: Row) => strengthOf(rowOf(row), objective);
  const end = (which: "low" | "high", why: string): Column<Row> => ({
    name: which,
    value: (row) => of(row)[which],
    show: (row) => <Value of={of(row)[which]} format={format} why={why} />,
    numeric: true,
  });
  return [
    {
      name,
      value: (row) => of(row).value,
      show: (row) => <Strength of={of(row)} />,
      numeric: true,
    },
    end("low", "its games give no lower end"),
    end("high", "its games give no upper end"),
  ];
}
