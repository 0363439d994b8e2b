/** `Field` is a control with its name, a hint and its errors. A screen reader tells them, too. */
import type { ComponentChild } from "preact";
import { useId } from "preact/hooks";

interface Described {
  "aria-invalid": boolean;
  "aria-describedby": string;
}

/**
 * children: draws the control; it is given the attributes that tie the texts to it
 * wrong: the errors in words, one line each
 */
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
