/** The page is narrow on a phone: there long lists show fewer rows before they fold. */
import { signal } from "@preact/signals";

const narrows = matchMedia("(max-width: 48rem)");

/** Whether the page is narrow, as the style sheets say it. */
export const narrow = signal(narrows.matches);
narrows.addEventListener("change", () => {
  narrow.value = narrows.matches;
});
