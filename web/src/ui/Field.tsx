/** A control with its name, a hint, and what is wrong with it: told to whoever hears the page as to whoever sees it. */
import type { ComponentChild } from "preact";
import { useId } from "preact/hooks";

interface Described {
  "aria-invalid": boolean;
  "aria-describedby": string;
}

/** children: the control, given what describes it;  wrong: in words, one line each */
export function Field({
  title,
  note,
  wrong,
  children,
}: {
  title: string;
  note: string;
  wrong: readonly string[];
  children: (described: Described) => ComponentChild;
}) {
  const id = useId();
  const bad = wrong.length > 0;
  return (
    <div class={bad ? "field invalid" : "field"}>
      <label>
        <span>{title}</span>
        {children({
          "aria-invalid": bad,
          "aria-describedby": bad ? `${id}-wrong ${id}-note` : `${id}-note`,
        })}
      </label>
      <small id={`${id}-note`}>{note}</small>
      <div id={`${id}-wrong`} aria-live="polite">
        {wrong.map((line) => (
          <em key={line} class="wrong">
            {line}
          </em>
        ))}
      </div>
    </div>
  );
}
