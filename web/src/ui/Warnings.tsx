/** What is not well, one line each; nothing where all is. */
export function Warnings({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <ul class="warnings" aria-label="Warnings">
      {of.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
