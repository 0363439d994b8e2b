/** `StateChip` shows the state of a population; its message appears for the pointer. */
import type { Schemas } from "../api/client";

export function StateChip({ status }: { status: Schemas["PopulationStatus"] }) {
  return (
    <span class={`chip chip-${status.state}`} title={status.message}>
      {status.state}
    </span>
  );
}
