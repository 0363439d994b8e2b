/** The line that a person points at. All charts of a page draw it in front. */
import { signal } from "@preact/signals";

/** The name of the line; null where the pointer is near none. */
export const pointedName = signal<string | null>(null);
