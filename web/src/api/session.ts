/** The session says what the service allows this browser: nothing, to look, or to change. */
import { signal } from "@preact/signals";
import type { components } from "../../generated/schema";
import { ROOT } from "../root";

const SESSION = `${ROOT}/v1/session`;

export type Level = components["schemas"]["SessionBody"]["level"];

/**
 * The level of the browser: "unknown" until the service has answered, "none" where a one-time code
 * is needed.
 */
export const session = signal<Level | "unknown">("unknown");
/** Why the code or the token was refused; null where it was not. */
export const refusal = signal<string | null>(null);

/**
 * Swaps the code or the token behind "#", which a browser sends to no server, for a cookie; then
 * asks what the cookie allows.
 */
export async function logIn(): Promise<void> {
  const behind = new URLSearchParams(location.hash.slice(1));
  const [code, token] = [behind.get("code"), behind.get("token")];
  if (code || token) history.replaceState(null, "", location.pathname + location.search);
  if (code) await send({ code }, "This code is wrong, used or old.");
  else if (token) await sendToken(token);
  await ask();
}

/** Logs in with a token that a person pasted. Returns whether it was taken. */
export async function logInWith(token: string): Promise<boolean> {
  const taken = await sendToken(token);
  if (taken) await ask();
  return taken;
}

function sendToken(token: string): Promise<boolean> {
  return send({ token }, "This token is wrong, expired or revoked.");
}

async function send(body: { code: string } | { token: string }, wrong: string): Promise<boolean> {
  const answer = await fetch(SESSION, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  }).catch(() => null);
  refusal.value = answer?.ok ? null : answer ? wrong : "The service does not answer.";
  return answer?.ok ?? false;
}

/** Returns the level of the browser, null where the service does not answer. */
async function level(): Promise<Level | null> {
  const asked = fetch(SESSION, { cache: "no-store" });
  const body: components["schemas"]["SessionBody"] | null = await asked
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);
  return body && body.level;
}

/** Asks the service for the level, once a second until it answers. */
export async function ask(): Promise<void> {
  const found = await level();
  if (found) session.value = found;
  else setTimeout(() => void ask(), 1000);
}

/** Asks once whether the session still stands, after the service refused something. */
export async function askAgain(): Promise<void> {
  if ((await level()) === "none") session.value = "none";
}

const LOG_OUT_MS = 10_000;

/**
 * Ends the session. The views go first: what they would ask while the service ends the session
 * would be refused. They come back where the service does not answer.
 */
export async function logOut(): Promise<void> {
  const before = session.value;
  session.value = "unknown";
  const signal = AbortSignal.timeout(LOG_OUT_MS);
  const answer = await fetch(SESSION, { method: "DELETE", signal }).catch(() => null);
  // Without an answer the cookie is still there.
  session.value = answer ? "none" : before;
}
