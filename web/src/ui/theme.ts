/** The theme of the page is light or dark, as the system says. */
import { signal } from "@preact/signals";

const prefers = matchMedia("(prefers-color-scheme: dark)");

/** Whether the theme is dark. What is drawn on a canvas is drawn again when this changes. */
export const dark = signal(prefers.matches);
prefers.addEventListener("change", () => {
  dark.value = prefers.matches;
});
