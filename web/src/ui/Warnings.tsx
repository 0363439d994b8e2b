/** `Warnings` lists what is wrong, one line each; without warnings it shows nothing. */
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
