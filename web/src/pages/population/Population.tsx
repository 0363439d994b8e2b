/** `Population` is the page of one population. Each of its tabs has a file in this folder. */
import type { Got } from "../../api/client";
import { OFTEN_MS, SELDOM_MS, useGet } from "../../api/useGet";
import { session } from "../../api/session";
import { to } from "../../address";
import { ROOT } from "../../root";
import { Empty, Shown } from "../../ui/state";
import { Tabs } from "../../ui/tabs";
import { PopulationActions } from "../PopulationActions";
import { StateChip } from "../StateChip";
import { Config } from "./Config";
import { Curves } from "./Curves";
import { Events } from "./Events";
import { Games } from "./Games";
import { Health } from "./Health";
import { Lineage } from "./Lineage";
import { Overview } from "./Overview";
import { Ratings } from "./Ratings";
import { Schedules } from "./Schedules";
import { WinRates } from "./WinRates";

type Body = Got<"/v1/populations/{name}">;

const TABS = [
  ["overview", "Overview"],
  ["ratings", "Ratings"],
  ["matrix", "Win rates"],
  ["values", "Hyperparameters"],
  ["lineage", "Lineage"],
  ["curves", "Curves"],
  ["games", "Games"],
  ["health", "Health"],
  ["events", "Events"],
  ["config", "Config"],
] as const;

export function Population({ name, tab }: { name: string; tab: string }) {
  const found = useGet(
    "/v1/populations/{name}",
    { path: { name } },
    { everyMs: OFTEN_MS, population: name },
  );
  const tabs = TABS.map(([key, title]) => ({
    name: key,
    title,
    href: to(key === "overview" ? ["populations", name] : ["populations", name, key]),
  }));
  return (
    <Shown query={found} what={name}>
      {(body) => (
        <>
          <div class="heading">
            <div>
              <h1>{name}</h1>
              <StateChip status={body.status} />
            </div>
            <div>
              <a class="button" href={`${ROOT}/v1/populations/${name}/report`} download>
                Report
              </a>
              {session.value === "admin" && (
                <a class="button" href={to(["populations", "new", "population"], { clone: name })}>
                  Clone
                </a>
              )}
              <PopulationActions name={name} state={body.status.state} done={found.again} />
            </div>
          </div>
          <Tabs label={`Views of ${name}`} tabs={tabs} now={tab} />
          <Content name={name} tab={tab} body={body} again={found.again} />
        </>
      )}
    </Shown>
  );
}

function Content({
  name,
  tab,
  body,
  again,
}: {
  name: string;
  tab: string;
  body: Body;
  again: () => void;
}) {
  const running = body.status.state === "running";
  const everyMs = running ? SELDOM_MS : 0;
  const members = body.status.members.length;
  switch (tab) {
    case "overview":
      return <Overview body={body} />;
    case "ratings":
      return <Ratings name={name} everyMs={everyMs} />;
    case "matrix":
      return <WinRates name={name} everyMs={everyMs} />;
    case "values":
      return <Schedules name={name} everyMs={everyMs} />;
    case "lineage":
      return <Lineage name={name} everyMs={everyMs} />;
    case "curves":
      return <Curves name={name} members={members} everyMs={everyMs} />;
    case "games":
      return <Games name={name} objective={body.status.ranked_by ?? "win"} everyMs={everyMs} />;
    case "health":
      return <Health name={name} members={body.status.members} running={running} />;
    case "events":
      return <Events name={name} everyMs={everyMs} />;
    case "config":
      return <Config body={body} again={again} />;
    default:
      return (
        <Empty title="There is no such view">
          <p>
            <a href={to(["populations", name])}>The overview</a>
          </p>
        </Empty>
      );
  }
}
