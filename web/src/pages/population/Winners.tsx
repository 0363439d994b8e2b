/**
 * `Winners` shows which values the strongest members share: the range of each hyperparameter of the
 * top quarter against that of all.
 */
import { MOST_SNAPSHOTS, useGet } from "../../api/useGet";
import { decimal } from "../../format";
import { roleTables, strengthOf } from "../../strength";
import { Figure } from "../../ui/Figure";
import { Empty, Shown } from "../../ui/state";
import type { Column } from "../../ui/table";
import type { History } from "./history";
import { newestRated, type RatedSnapshot } from "./rated";
import { quarterOf, type Range, type SharedValue, sharedValues } from "./sharedValues";

/** With fewer members a quarter is one, who shares its values with no other. */
const FEWEST = 5;

/** Below it a range is called narrower than chance makes it. */
const SURE = 0.05;

export function Winners({
  population,
  history,
  everyMs,
}: {
  population: string;
  history: History;
  everyMs: number;
}) {
  const place = { everyMs, population };
  const ratings = useGet("/v1/ratings", { query: { population } }, place);
  const snapshots = useGet(
    "/v1/populations/{name}/snapshots",
    { path: { name: population }, query: { limit: MOST_SNAPSHOTS } },
    place,
  );
  if (Object.keys(history.start).length < FEWEST) return null;
  return (
    <>
      <h2>What the strongest share</h2>
      <Shown query={ratings} what="ratings">
        {(report) => (
          <Shown query={snapshots} what="snapshots">
            {(list) => {
              const rated = newestRated(report, list).filter(
                ({ row }) => strengthOf(row, report.objective).point !== null,
              );
              if (rated.length < FEWEST) return <TooFew />;
              return (
                <div class="figures">
                  {roleTables(rated).map(({ role, rows }) => (
                    <OfRole
                      key={role}
                      role={role}
                      history={history}
                      ranked={rows.sort(
                        (a, b) =>
                          strengthOf(b.row, report.objective).point! -
                          strengthOf(a.row, report.objective).point!,
                      )}
                    />
                  ))}
                </div>
              );
            }}
          </Shown>
        )}
      </Shown>
    </>
  );
}

function TooFew() {
  return (
    <Empty title="Too few members have a rating yet">
      <p>Ratings come from evaluation games between snapshots.</p>
    </Empty>
  );
}

const COLUMNS: readonly Column<SharedValue>[] = [
  { name: "value", value: (row) => row.name },
  { name: "top from", value: (row) => row.top.low, numeric: true },
  { name: "top to", value: (row) => row.top.high, numeric: true },
  { name: "all from", value: (row) => row.all.low, numeric: true },
  { name: "all to", value: (row) => row.all.high, numeric: true },
  {
    name: "p",
    value: (row) => row.chance,
    numeric: true,
    why: "all members have the same value, or the quarter is one member",
  },
];

function OfRole({
  role,
  history,
  ranked,
}: {
  role: string | null;
  history: History;
  ranked: readonly RatedSnapshot[];
}) {
  const shared = sharedValues(ranked.map(({ member }) => valuesNow(history, member)));
  const top = ranked.slice(0, quarterOf(ranked.length)).map(({ member }) => member);
  const title = `Values of the top quarter${role === null ? "" : `, role ${role}`}`;
  const note =
    `The top quarter by their newest rated snapshots: ${top.join(", ")}. The thin line is the ` +
    `range of all ${ranked.length}, the thick one that of the top quarter, the mark its median. ` +
    "Members that copied share values, too.";
  return (
    <Figure title={title} note={note} columns={COLUMNS} rows={shared}>
      <div class="winners" role="img" aria-label={`${title}; the numbers stand below`}>
        {shared.map((one) => (
          <Ranges key={one.name} of={one} />
        ))}
      </div>
    </Figure>
  );
}

/** Returns the values of a member after its last round, or those that it began with. */
function valuesNow(history: History, member: string): Record<string, number> {
  return history.members[member]?.at(-1)?.values ?? history.start[member] ?? {};
}

/** Draws the two ranges of one value, on a scale of factors where all values are positive. */
function Ranges({ of: { name, all, top, chance } }: { of: SharedValue }) {
  const scale = all.low > 0 ? Math.log : (value: number) => value;
  const [from, to] = [scale(all.low), scale(all.high)];
  const at = (value: number) => (to > from ? (100 * (scale(value) - from)) / (to - from) : 50);
  return (
    <div class="winner">
      <p>
        <b>{name}</b> {rangeText(top)} <span class="note">of {rangeText(all)}</span>
        {chance !== null && chance <= SURE && (
          <span class="chip">closer together than chance makes them</span>
        )}
      </p>
      <div class="ranges">
        <span class="all" />
        <span
          class="top"
          style={{ left: `${at(top.low)}%`, width: `${at(top.high) - at(top.low)}%` }}
        />
        <span class="median" style={{ left: `${at(top.median)}%` }} />
      </div>
    </div>
  );
}

function rangeText({ low, high }: Range): string {
  return low === high ? decimal(low) : `${decimal(low)} to ${decimal(high)}`;
}
