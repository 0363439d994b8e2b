/**
 * Writes rows as CSV (RFC 4180); null is an empty field. A text that a spreadsheet would take for a
 * formula gets an apostrophe before it.
 */
export function csv(
  columns: readonly string[],
  rows: readonly (readonly (string | number | boolean | null | undefined)[])[],
): string {
  const field = (value: string | number | boolean | null | undefined) => {
    const plain = value === null || value === undefined ? "" : String(value);
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${plain}` : plain;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}
