/** A single value on the page: a number or the reason why it is not there. */
import type { ComponentChildren } from "preact";

/** A word or a sign and what it means: to be pointed at, heard, or read where it stands when it has the focus (a tap, the Tab key). */
export function Hint({ text, why }: { text: ComponentChildren; why: string }) {
  return (
    <span class="missing" title={why} tabIndex={0}>
      {text}
      <span class="unseen"> ({why})</span>
    </span>
  );
}

/** A number that is there, or a dash that says why not. */
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

/** In a list of facts (`dl.facts`). */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
