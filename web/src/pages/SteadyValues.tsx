/** `SteadyValues` names hyperparameters that never changed: a chart of each would say no more. */
import { decimal } from "../format";

/** Returns the one value that all have; null where they differ, or where one is missing. */
export function steadyValue(values: Iterable<number | null | undefined>): number | null {
  const all = new Set(values);
  const [only] = all;
  return all.size === 1 && typeof only === "number" ? only : null;
}

export function SteadyValues({ of }: { of: readonly (readonly [name: string, value: number])[] }) {
  if (of.length === 0) return null;
  return (
    <p class="steady">
      Never changed:{" "}
      {of.map(([name, value], index) => (
        <span key={name}>
          {index > 0 && ", "}
          <b>{name}</b> <span class="number">{decimal(value)}</span>
        </span>
      ))}
    </p>
  );
}
