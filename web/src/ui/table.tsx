/** `Table` shows rows. Its columns say what stands on the page and what is written into a file. */
import type { ComponentChildren } from "preact";
import { decimal } from "../format";
import { Hint } from "./value";

type Cell = string | number | boolean | null | undefined;

export interface Column<Row> {
  name: string;
  /** The value that is written into a file. */
  value: (row: Row) => Cell;
  /** What is shown on the page, where it is more than the value. */
  show?: (row: Row) => ComponentChildren;
  numeric?: boolean;
  /** The reason for a missing value. */
  why?: string;
  /** Long texts, which need more width. */
  wide?: boolean;
}

export interface TableOf<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  id?: (row: Row) => string;
  /** On a phone each row becomes a card. */
  cards?: boolean;
}

/** Shows rows as a table that scrolls sideways where it must. */
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
                <td
                  key={column.name}
                  data-name={cards ? column.name : undefined}
                  class={column.numeric ? "right" : column.wide ? "wide" : ""}
                >
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

/** Shows the value of a column that has no `show`. */
function cell<Row>({ value, why }: Column<Row>, row: Row): ComponentChildren {
  const found = value(row);
  if (found === null || found === undefined || Number.isNaN(found))
    return <Hint text="–" why={why ?? "there is none"} />;
  return typeof found === "number" && !Number.isInteger(found) ? decimal(found) : String(found);
}
