/**
 * `Fold` hides what is long until a person opens it; only then it is made. `NarrowFold` does so on
 * a phone alone.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { narrow } from "./screen";

export function Fold({
  summary,
  children,
}: {
  summary: string;
  children: () => ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {open && children()}
    </details>
  );
}

/** title: of the fold, and where nothing folds the heading above */
export function NarrowFold({
  title,
  heading = true,
  children,
}: {
  title: string;
  /** Whether a heading is needed: a figure has its own. */
  heading?: boolean;
  children: () => ComponentChildren;
}) {
  if (narrow.value) return <Fold summary={title}>{children}</Fold>;
  return (
    <>
      {heading && <h2>{title}</h2>}
      {children()}
    </>
  );
}
