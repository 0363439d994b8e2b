/** The session says what the service allows this browser: nothing, to look, or to change. */
import { signal } from "@preact/signals";
import type { components } from "../../generated/schema";

export type Level = components["schemas"]["SessionBody"]["level"];

/**
 * The level of the browser: "unknown" until the service has answered, "none" where a one-time code
 * is needed.
 */
export const session = signal<Level | "unknown">("unknown");
/** Why the code in the address was refused; null where it was not. */
export const refusal = signal<string | null>(null);

/**
 * Swaps the code behind "#", which a browser sends to no server, for a cookie; then asks what the
 * cookie allows.
 */
export async function logIn(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    const answer = await fetch("/v1/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    }).catch(() => null);
    refusal.value = answer?.ok
      ? null
      : answer
        ? "This code is wrong, used or old."
        : "The service does not answer.";
  }
  await ask();
}

/** Asks the service for the level, once a second until it answers. */
export async function ask(): Promise<void> {
  const asked = fetch("/v1/session", { cache: "no-store" });
  const body: components["schemas"]["SessionBody"] | null = await asked
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);
  if (body) session.value = body.level;
  else setTimeout(() => void ask(), 1000);
}

/** Ends the session. */
export async function logOut(): Promise<void> {
  const answer = await fetch("/v1/session", { method: "DELETE" }).catch(() => null);
  // Without an answer the cookie is still there.
  if (answer) session.value = "none";
}
