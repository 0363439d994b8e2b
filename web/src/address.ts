/**
 * The address of the page. It alone says what is shown, so a link or a reload restores every view;
 * `app.tsx` chooses the view.
 */
import { computed, signal } from "@preact/signals";
import { ROOT } from "./root";

export const BASE = `${ROOT}/app`;

const href = signal(location.pathname + location.search);
addEventListener("popstate", () => {
  href.value = location.pathname + location.search;
});

const url = computed(() => new URL(href.value, location.origin));
/** The parts of the path below `/app/`, decoded. */
export const parts = computed(() => partsOf(url.value.pathname));
/** The parameters of the address. */
export const query = computed(() => url.value.searchParams);

/** Returns the parts of a path below `/app/`, decoded. */
export function partsOf(pathname: string): string[] {
  const below = pathname.startsWith(`${BASE}/`) ? pathname.slice(BASE.length + 1) : "";
  return below.split("/").filter(Boolean).map(decoded);
}

/**
 * Decodes a part of a path. A part that is no valid encoding, such as "%", stays as it is and leads
 * to no view.
 */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return part;
  }
}

type Parameters = Record<string, string | boolean | readonly string[] | undefined>;

/** Returns the address of a view. Parameters that are undefined, empty or false are left out. */
export function to(path: readonly string[], parameters: Parameters = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (Array.isArray(value)) for (const one of value) search.append(key, one);
    else if (value === true) search.set(key, "1");
    else if (typeof value === "string" && value) search.set(key, value);
  }
  const text = search.toString();
  return `${BASE}/${path.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

/** Goes to an address of the dashboard. */
export function go(target: string, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", target);
  href.value = target;
  if (!replace) scrollTo(0, 0);
}

/**
 * Returns the address with some parameters changed. It starts from the address of the browser,
 * which can hold more than the views were told: see `note`.
 */
function changed(parameters: Parameters): string {
  const search = new URLSearchParams(location.search);
  const now: Parameters = {};
  for (const key of new Set(search.keys())) now[key] = search.getAll(key);
  return to(parts.value, { ...now, ...parameters });
}

/** Changes parameters of the view, without a new entry in the history of the browser. */
export function setQuery(parameters: Parameters): void {
  go(changed(parameters), { replace: true });
}

/** Returns the values of a parameter that start with `beginning`, without that beginning. */
export function noted(key: string, beginning: string): string[] {
  const values = new URLSearchParams(location.search).getAll(key);
  return values
    .filter((value) => value.startsWith(beginning))
    .map((value) => value.slice(beginning.length));
}

/**
 * Writes into the address what a part of a view has changed by itself: the values of a parameter
 * that start with `beginning`. No view is drawn anew; a link or a reload finds the values there.
 */
export function note(key: string, beginning: string, ends: readonly string[]): void {
  const others = new URLSearchParams(location.search)
    .getAll(key)
    .filter((value) => !value.startsWith(beginning));
  const target = changed({ [key]: [...others, ...ends.map((end) => beginning + end)] });
  if (target !== location.pathname + location.search) history.replaceState(null, "", target);
}

/** Handles a click on a link within the dashboard: the view changes, the page stays. */
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
