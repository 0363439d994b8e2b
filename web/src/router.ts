/** The address says what is shown; nothing else does, so a link or a reload restores every view. */
import { computed, signal } from "@preact/signals";

export const BASE = "/app";

const href = signal(location.pathname + location.search);
addEventListener("popstate", () => {
  href.value = location.pathname + location.search;
});

const url = computed(() => new URL(href.value, location.origin));
/** Parts of the path below `/app/`, decoded. */
export const parts = computed(() => partsOf(url.value.pathname));
export const query = computed(() => url.value.searchParams);

export function partsOf(pathname: string): string[] {
  const below = pathname.startsWith(`${BASE}/`) ? pathname.slice(BASE.length + 1) : "";
  return below.split("/").filter(Boolean).map(decoded);
}

/** What nobody could have encoded ("%") stays as it is, and is then no view. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return part;
  }
}

type Parameters = Record<string, string | boolean | readonly string[] | undefined>;

/** The address of a view. Parameters that are undefined, empty or false are left out. */
export function to(path: readonly string[], parameters: Parameters = {}): string {
  const said = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (Array.isArray(value)) for (const one of value) said.append(key, one);
    else if (value === true) said.set(key, "1");
    else if (typeof value === "string" && value) said.set(key, value);
  }
  const shown = said.toString();
  return `${BASE}/${path.map(encodeURIComponent).join("/")}${shown && `?${shown}`}`;
}

export function go(target: string, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", target);
  href.value = target;
  if (!replace) scrollTo(0, 0);
}

/** The address with these parameters changed. From the browser's own, which may hold more than views were told: see `note`. */
function changed(parameters: Parameters): string {
  const said = new URLSearchParams(location.search);
  const now: Parameters = {};
  for (const key of new Set(said.keys())) now[key] = said.getAll(key);
  return to(parts.value, { ...now, ...parameters });
}

/** Change parameters of this view, without a new entry in the browser's history. */
export function setQuery(parameters: Parameters): void {
  go(changed(parameters), { replace: true });
}

/** The values of a parameter that begin so, without that beginning. */
export function noted(key: string, beginning: string): string[] {
  const values = new URLSearchParams(location.search).getAll(key);
  return values
    .filter((value) => value.startsWith(beginning))
    .map((value) => value.slice(beginning.length));
}

/** Write down, for a link or a reload, what a part of a view has changed by itself: the values that begin so. Nothing is drawn anew. */
export function note(key: string, beginning: string, ends: readonly string[]): void {
  const others = new URLSearchParams(location.search)
    .getAll(key)
    .filter((value) => !value.startsWith(beginning));
  const target = changed({ [key]: [...others, ...ends.map((end) => beginning + end)] });
  if (target !== location.pathname + location.search) history.replaceState(null, "", target);
}

/** Clicks on links within the dashboard change the view, not the page. */
export function followLinks(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  const elsewhere =
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey;
  if (
    !link ||
    elsewhere ||
    link.target ||
    link.hash ||
    link.hasAttribute("download") ||
    link.origin !== location.origin
  )
    return;
  if (!link.pathname.startsWith(`${BASE}/`)) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
