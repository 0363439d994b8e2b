/** This file makes the columns of what one player got of another, in what their table counts. */
import type { Objective } from "../api/reports";
import { margin, percent } from "../format";
import { type Decided, headlineOf } from "../strength";
import type { Column } from "../ui/table";
import { Value } from "../ui/value";

/** Returns the columns of the score, or of the mean margin where margins count, and its ends. */
export function decidedColumns<Row>(
  objective: Objective,
  of: (row: Row) => Decided,
): readonly Column<Row>[] {
  const [name, format] = objective === "margin" ? ["margin", margin] : ["score", percent];
  const column = (key: "value" | "low" | "high", head: string): Column<Row> => ({
    name: head,
    value: (row) => headlineOf(of(row))[key],
    show: (row) => (
      <Value of={headlineOf(of(row))[key]} format={format} why="its games give no interval" />
    ),
    numeric: true,
  });
  return [column("value", name), column("low", "low"), column("high", "high")];
}
