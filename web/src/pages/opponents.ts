/** This file lists the players that a person can choose in a form. */
import type { Got } from "../api/client";
import type { RatingReport } from "../api/reports";
import { count } from "../format";
import { countedIn, type ReportRow, strengthOf } from "../strength";

type Snapshots = Got<"/v1/populations/{name}/snapshots">;

/**
 * Returns the players of a population: the best (of each role, where there are several), every
 * snapshot with weights, strongest first, and the scripted players that it met.
 */
export function opponents(
  population: string,
  { objective, players }: RatingReport,
  snapshots: Snapshots | undefined,
): { name: string; title: string }[] {
  const rated: readonly ReportRow[] = players;
  const byId = new Map(rated.map((row, place) => [row.id, { row, place }]));
  const there = (snapshots?.items ?? []).filter((one) => one.has_weights && !one.superseded);
  const place = (id: string) => byId.get(id)?.place ?? rated.length;
  const strongest = [...there].sort((a, b) => place(a.id) - place(b.id) || b.frames - a.frames);
  const frozen = strongest.map((one) => {
    const name = `${population}/${one.member}@${count(one.frames)}`;
    const row = byId.get(one.id)?.row;
    const known = row ? strengthOf(row, objective).text : null;
    const strength = known === null ? "" : `, ${countedIn(objective).amount(known)}`;
    return { name, title: `${one.member} at ${count(one.frames)} frames${strength}` };
  });
  const scripted = [
    ...new Set([
      "random",
      ...rated.filter((row) => row.kind === "scripted").map((row) => row.player),
    ]),
  ];
  const roles = [...new Set(there.map((one) => one.role))];
  const best =
    roles.length > 1
      ? roles.map((role) => ({
          name: `${population}/${role}@best`,
          title: `the best ${role} so far`,
        }))
      : roles.map(() => ({ name: `${population}@best`, title: "the best so far" }));
  return [...best, ...frozen, ...scripted.map((name) => ({ name, title: name }))];
}
