/** Who the browser is to the service. */
import { signal } from "@preact/signals";
import type { components } from "../../generated/schema";

export type Level = components["schemas"]["SessionBody"]["level"];

/** "unknown" until the service has said it; "none": a one-time code is needed. */
export const session = signal<Level | "unknown">("unknown");
/** What became of a code in the address. */
export const refusal = signal<string | null>(null);

/** Swap the code behind "#", which a browser sends to nobody, for a cookie; then ask what the cookie allows. */
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

export async function ask(): Promise<void> {
  const asked = fetch("/v1/session", { cache: "no-store" });
  type Said = components["schemas"]["SessionBody"];
  const said = await asked
    .then((answer) => (answer.ok ? (answer.json() as Promise<Said>) : null))
    .catch(() => null);
  if (said) session.value = said.level;
  else setTimeout(() => void ask(), 1000);
}

export async function logOut(): Promise<void> {
  const answer = await fetch("/v1/session", { method: "DELETE" }).catch(() => null);
  // Where nobody answered, the cookie is still there.
  if (answer) session.value = "none";
}
