/** Names of players that are known by a snapshot's id only. */
import { signal } from "@preact/signals";
import { get, ServiceProblem } from "./api/client";
import { count } from "./format";

const known = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();

/** "demo/m0@351k" of a snapshot, the beginning of its id until that is known or where it was deleted, and other players' own names. */
export function labelOf(kind: string, name: string): string {
  if (kind !== "snapshot") return name;
  if (!asked.has(name)) {
    asked.add(name);
    void learn(name);
  }
  return known.value.get(name) ?? name.slice(0, 8);
}

async function learn(id: string): Promise<void> {
  try {
    const snapshot = await get("/v1/snapshots/{snapshot_id}", { path: { snapshot_id: id } });
    known.value = new Map([
      ...known.value,
      [id, `${snapshot.population}/${snapshot.member}@${count(snapshot.frames)}`],
    ]);
  } catch (error) {
    if (!(error instanceof ServiceProblem)) throw error;
    // Nothing is lost: its id stays, and a later page asks again where the service did not answer.
    if (error.status !== 404) asked.delete(id);
  }
}
