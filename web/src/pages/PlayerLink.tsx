/**
 * `PlayerLink` links the label of a snapshot, such as "demo/m0@351k", to the page of its policy.
 * Other players have no such page.
 */
import { short } from "../format";
import { to } from "../address";

export function PlayerLink({ label, kind }: { label: string; kind?: string }) {
  const [population, player] = [label.slice(0, label.indexOf("/")), short(label)];
  if ((kind ?? "snapshot") !== "snapshot" || !label.includes("/")) return <>{label}</>;
  return <a href={to(["populations", population, "policies", player])}>{label}</a>;
}
