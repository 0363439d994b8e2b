import { signal } from "@preact/signals";

const prefers = matchMedia("(prefers-color-scheme: dark)");

/** Follows the system; what is drawn on a canvas is drawn again when it changes. */
export const dark = signal(prefers.matches);
prefers.addEventListener("change", () => {
  dark.value = prefers.matches;
});
