/** These components show a single value: a number, or the reason why it is missing. */
import type { ComponentChildren } from "preact";

/**
 * Shows a word or a sign with its meaning. The meaning appears for the pointer, for a screen
 * reader, and in place when the sign has the focus (by a tap or the Tab key).
 */
export function Hint({ text, why }: { text: ComponentChildren; why: string }) {
  return (
    <span class="missing" title={why} tabIndex={0}>
      {text}
      <span class="unseen"> ({why})</span>
    </span>
  );
}

/** Shows a number, or a dash with the reason why the number is missing. */
export function Value({
  of,
  format,
  why,
}: {
  of: number | null | undefined;
  format: (value: number) => string;
  why: string;
}) {
  if (of !== null && of !== undefined && Number.isFinite(of))
    return <span class="number">{format(of)}</span>;
  return <Hint text="–" why={why} />;
}

/** Shows one fact of a list (`dl.facts`). */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
