/** `SitDownLink` leads to a board, where the population's game has one and the session may play. */
import { gameOf } from "../api/reports";
import { session } from "../api/session";
import { useGet } from "../api/useGet";
import { hasBoard } from "../board";
import { to } from "../address";

export function SitDownLink({
  population,
  opponent,
  children,
}: {
  population: string;
  opponent?: string;
  children: string;
}) {
  const body = useGet(
    "/v1/populations/{name}",
    { path: { name: population } },
    { everyMs: 0, population },
  );
  const env = gameOf(body.value);
  if (session.value !== "admin" || !hasBoard(env)) return null;
  return (
    <a class="button" href={to(["play"], { population, opponent })}>
      {children}
    </a>
  );
}
