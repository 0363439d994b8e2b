/** `Fold` hides what is long until a person opens it; only then it is made. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

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
