/** This file tells how wide the page is, as the style sheets say it. */
import { signal } from "@preact/signals";

function matching(query: string) {
  const list = matchMedia(query);
  const found = signal(list.matches);
  list.addEventListener("change", () => {
    found.value = list.matches;
  });
  return found;
}

/** The page is narrow on a phone: there long lists show fewer rows before they fold. */
export const narrow = matching("(max-width: 48rem)");

/** The page is wide on a large screen: there is room for higher charts. */
export const wide = matching("(min-width: 120rem)");
