/**
 * This file names players. The service often gives only the id of a snapshot; its label is asked
 * for once and kept.
 */
import { signal } from "@preact/signals";
import { get, ServiceProblem } from "./api/client";
import { count } from "./format";

const known = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();

/**
 * Returns the label of a player, such as "demo/m0@351k" for a snapshot. Until that is known, or
 * where the snapshot was deleted, it is the beginning of the id.
 */
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
    // The id stays on the page. Where the service did not answer, a later page asks again.
    if (error.status !== 404) asked.delete(id);
  }
}
