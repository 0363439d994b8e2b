/**
 * The client calls the service. Types come from its OpenAPI document; an answer that is not a
 * success becomes a `ServiceProblem`.
 */
import type { components, paths } from "../../generated/schema";
import { ROOT } from "../root";
import { session } from "./session";

export type Schemas = components["schemas"];
type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : never;
type Operation<P extends keyof paths, M extends string> = M extends keyof paths[P]
  ? paths[P][M]
  : never;
type Success<O> = O extends { responses: infer R } ? Json<R[keyof R & (200 | 201 | 202)]> : never;
/** The body that a GET of this path answers with. */
export type Got<P extends keyof paths> = Success<Operation<P, "get">>;

/** What fills the template of an address. */
export interface Place {
  path?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
}

/**
 * An answer that is not a success, in the words of the service. Status 0 means that there was no
 * answer.
 */
export class ServiceProblem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly errors: readonly { pointer: string; detail: string }[] = [],
  ) {
    super(detail || title);
  }
}

/**
 * Returns the address of a resource: `{name}` in the template is replaced, and undefined parameters
 * are left out.
 */
export function address(template: string, { path = {}, query = {} }: Place = {}): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, key: string) =>
    encodeURIComponent(path[key] ?? ""),
  );
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return (
    filled +
    (given.length
      ? `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`
      : "")
  );
}

const MOST_KEPT = 100;
/**
 * The ETag of a population is its revision, on which a change is decided. It says nothing of the
 * content, so these answers are never taken as unchanged.
 */
const REVISED = "/v1/populations/{name}";
const GONE: ReadonlySet<number> = new Set([404, 410]);
/** What the JSON of an answer is typed as before its route is known. */
type Unchecked = Awaited<ReturnType<Response["json"]>>;
const kept = new Map<string, { tag: string; body: Unchecked }>();

/** Returns the last answer to a GET, if it is remembered: something to show until the next one. */
export function remembered<P extends keyof paths>(template: P, place?: Place): Got<P> | undefined {
  return kept.get(address(template, place))?.body;
}

/** Sends a GET with the last ETag. Where nothing changed, the very same object comes back. */
export async function get<P extends keyof paths>(
  template: P,
  place?: Place,
  signal?: AbortSignal,
): Promise<Got<P>> {
  const url = address(template, place);
  const known = kept.get(url);
  const answer = await send(url, {
    ...(known && { headers: { "if-none-match": known.tag } }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (error instanceof ServiceProblem && GONE.has(error.status)) kept.delete(url);
    throw error;
  });
  if (answer.status === 304 && known) return known.body;
  const body = await read(answer);
  const tag = answer.headers.get("etag");
  if (tag && template !== REVISED) {
    kept.delete(url);
    kept.set(url, { tag, body });
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
  }
  return body;
}

/**
 * Sends a change. Each call has an Idempotency-Key of its own, so a request that the network
 * repeats happens once.
 * revision: the service refuses the change if the resource has a newer one
 */
export async function change<P extends keyof paths, M extends "post" | "patch" | "delete">(
  method: M,
  template: P,
  place: Place = {},
  body?: unknown,
  revision?: number,
): Promise<Success<Operation<P, M>>> {
  const headers: Record<string, string> = {
    "idempotency-key": `${Date.now()}-${Math.random().toString(36).slice(2)}`,
  };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (revision !== undefined) headers["if-match"] = `"${revision}"`;
  const answer = await send(address(template, place), {
    method: method.toUpperCase(),
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  // A resource that is made next can have the name of the deleted one.
  if (method === "delete") kept.clear();
  return read(answer);
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(ROOT + url, { ...init, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    throw unanswered(error);
  }
  if (answer.ok || answer.status === 304) return answer;
  if (answer.status === 401) {
    session.value = "none";
    kept.clear();
  }
  throw await problemOf(answer);
}

/**
 * Returns the JSON of an answer, undefined for one without content. An answer that ends in the
 * middle, since the service was killed while it sent, counts as none.
 */
async function read(answer: Response): Promise<Unchecked> {
  if (answer.status === 204) return undefined;
  try {
    return await answer.json();
  } catch (error) {
    throw unanswered(error);
  }
}

/**
 * Returns what to throw in place of a network error. A request that the page itself aborted stays
 * an AbortError.
 */
function unanswered(error: unknown): unknown {
  if (error instanceof DOMException && error.name === "AbortError") return error;
  return new ServiceProblem(
    0,
    "The service does not answer",
    "It may be stopped, or starting. This page tries again by itself.",
  );
}

/** Returns an answer that is not a success as what to throw. */
export async function problemOf(answer: Response): Promise<ServiceProblem> {
  try {
    const problem: Schemas["Problem"] = await answer.json();
    return new ServiceProblem(answer.status, problem.title, problem.detail, problem.errors);
  } catch {
    return new ServiceProblem(answer.status, `The service answered ${answer.status}`, "");
  }
}
