import { short } from "../format";
import { to } from "../router";

/** "demo/m0@351k" as a link to the policy; others are no policies of ours. */
export function PlayerLink({ label, kind }: { label: string; kind?: string }) {
  const [population, player] = [label.slice(0, label.indexOf("/")), short(label)];
  if ((kind ?? "snapshot") !== "snapshot" || !label.includes("/")) return <>{label}</>;
  return <a href={to(["populations", population, "policies", player])}>{label}</a>;
}
