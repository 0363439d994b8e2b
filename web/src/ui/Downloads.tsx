/** `Downloads` are the buttons that save rows as files, and a chart as a picture. */
import { csv } from "./csv";
import type { Pictured } from "./pictured";
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

/** Shows the buttons that save the chart of a figure; none where it has no chart. */
export function Pictures({ title, of }: { title: string; of: Pictured }) {
  if (!of.shown) return null;
  const save = async (kind: "png" | "svg") => {
    const shown = of.shown?.();
    const { savePicture } = await import("./savePicture");
    if (shown) savePicture(title, shown, kind);
  };
  return (
    <div class="downloads">
      {(["png", "svg"] as const).map((kind) => (
        <button key={kind} onClick={() => void save(kind)}>
          {kind.toUpperCase()}
        </button>
      ))}
      <small>as it is shown above</small>
    </div>
  );
}

/** Lets the browser save a text, or bytes, as a file. */
export function saveFile(name: string, content: string | Blob, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
