/** `Downloads` are the buttons that save rows as files. */
import { csv } from "./csv";
import type { Column } from "./table";

export function Downloads<Row>({
  name,
  columns,
  rows,
}: {
  name: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
}) {
  const cells = () => rows.map((row) => columns.map((column) => column.value(row)));
  const names = columns.map((column) => column.name);
  const objects = () =>
    cells().map((row) =>
      Object.fromEntries(row.map((cell, index) => [names[index]!, cell ?? null])),
    );
  return (
    <div class="downloads">
      <button onClick={() => saveFile(`${name}.csv`, csv(names, cells()), "text/csv")}>CSV</button>
      <button
        onClick={() =>
          saveFile(`${name}.json`, JSON.stringify(objects(), null, 1), "application/json")
        }
      >
        JSON
      </button>
    </div>
  );
}

/** Lets the browser save a text as a file. */
export function saveFile(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
