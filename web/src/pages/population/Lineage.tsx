/**
 * `Lineage` is the tab that shows where weights come from: a lane for every member in the colour of
 * its ancestor, an arc for every copy, and the path to the best policy.
 */
import { useMemo, useState } from "preact/hooks";
import type { RatingReport } from "../../api/reports";
import { useGet } from "../../api/useGet";
import { count } from "../../format";
import { query, setQuery } from "../../address";
import { bestOf } from "../../strength";
import { Figure } from "../../ui/Figure";
import { Empty, Shown, whyNot } from "../../ui/state";
import type { Column } from "../../ui/table";
import { ancestryOf, byFamily, familyColours, pathTo, type Stretch } from "./ancestry";
import { CopyReason } from "./CopyReason";
import type { Copy, History } from "./history";
import { Lanes } from "./Lanes";

const NOTE =
  "A lane is a member's clock. Its colour is that of the member whose weights it began with, or " +
  "took over; an arc is a copy, from the winner at that moment.";

const COLUMNS: readonly Column<Copy>[] = [
  { name: "frames", value: (row) => row.frames, numeric: true },
  { name: "member", value: (row) => row.to },
  { name: "copied", value: (row) => row.from },
  { name: "at frames", value: (row) => row.fromFrames, numeric: true },
  { name: "round", value: (row) => row.round, numeric: true },
  { name: "why", value: (row) => row.verdict, wide: true },
];

/** Beyond this number lanes are in the order of families unless a person asks for names. */
const FEW_LANES = 8;

export function Lineage({ name, everyMs }: { name: string; everyMs: number }) {
  const found = useGet(
    "/v1/populations/{name}/hyperparameters",
    { path: { name } },
    { everyMs, population: name },
  );
  const body = useGet("/v1/populations/{name}", { path: { name } }, { everyMs, population: name });
  const now = new Map((body.value?.status.members ?? []).map((one) => [one.name, one.frames]));
  return (
    <Shown query={found} what="the lineage">
      {(history) =>
        Object.keys(history.start).length === 0 ? (
          <Empty title="No members yet" />
        ) : (
          <Tree name={name} history={history} now={now} everyMs={everyMs} />
        )
      }
    </Shown>
  );
}

function Tree({
  name,
  history,
  now,
  everyMs,
}: {
  name: string;
  history: History;
  now: ReadonlyMap<string, number>;
  everyMs: number;
}) {
  const ancestry = useMemo(() => ancestryOf(history, now), [history, [...now.values()].join()]);
  const { members, copies, families } = ancestry;
  const [open, setOpen] = useState<Copy | null>(null);
  const ratings = useGet(
    "/v1/ratings",
    { query: { population: name } },
    { everyMs, population: name },
  );
  const best = bestIds(ratings.value);
  const asked = query.value.get("path") ?? [...best.keys()][0] ?? "";
  const snapshot = useSnapshot(best.get(asked));
  const end = snapshot ?? ofMember(asked, members, now);
  const path = useMemo(
    () => (end ? pathTo(history, copies, end) : []),
    [history, end?.member, end?.frames],
  );
  const order = query.value.get("order") ?? (members.length > FEW_LANES ? "family" : "name");
  const colours = familyColours(ancestry);
  return (
    <Figure
      title="Which member took over whose weights"
      note={copies.length ? NOTE : "No member has copied another one yet."}
      columns={COLUMNS}
      rows={copies}
    >
      <div class="choices">
        <label>
          Path in bold to
          <select value={asked} onChange={(event) => setQuery({ path: event.currentTarget.value })}>
            {best.size === 0 && (
              <option value="">none: {whyNot(ratings, "no best policy yet")}</option>
            )}
            {[...best.keys()].map((one) => (
              <option key={one}>{one}</option>
            ))}
            {members.map((member) => (
              <option key={member}>{member}</option>
            ))}
          </select>
        </label>
        <label>
          Lanes
          <select
            value={order}
            onChange={(event) => setQuery({ order: event.currentTarget.value })}
          >
            <option value="family">by ancestor</option>
            <option value="name">by name</option>
          </select>
        </label>
      </div>
      {path.length > 0 && <p class="note">{pathText(path)}</p>}
      <Lanes
        of={ancestry}
        order={order === "family" ? byFamily(ancestry) : members}
        colours={colours}
        path={path}
        open={open}
        choose={setOpen}
      />
      {copies.length > 0 && <Families families={families} colours={colours} />}
      {open && (
        <CopyReason
          key={`${open.to} ${open.round}`}
          population={name}
          copy={open}
          close={() => setOpen(null)}
        />
      )}
    </Figure>
  );
}

interface End {
  member: string;
  frames: number;
}

/** Returns the best policy of each role by its name: the ids of their snapshots. */
function bestIds(report: RatingReport | undefined): ReadonlyMap<string, string> {
  const found = report ? bestOf(report) : [];
  return new Map(found.flatMap(({ name, id }) => (id === null ? [] : [[name, id]])));
}

/** Returns whose weights a snapshot holds; undefined until that is known. */
function useSnapshot(id: string | undefined): End | undefined {
  const found = useGet(
    id === undefined ? null : "/v1/snapshots/{snapshot_id}",
    { path: { snapshot_id: id ?? "" } },
    { everyMs: 0 },
  );
  return id === undefined ? undefined : found.value;
}

function ofMember(
  name: string,
  members: readonly string[],
  now: ReadonlyMap<string, number>,
): End | undefined {
  return members.includes(name) ? { member: name, frames: now.get(name) ?? Infinity } : undefined;
}

function pathText(path: readonly Stretch[]): string {
  const steps = path.map(({ member, from, to }, index) => {
    const until = Number.isFinite(to) ? ` to ${count(to)}` : "";
    return index === 0
      ? `${member} from the beginning${until}`
      : `${member} copied it at ${count(from)} and went on${until}`;
  });
  return `${steps.join("; ")} frames.`;
}

/** Says which colour stands for which ancestor, and how many members descend from it. */
function Families({
  families,
  colours,
}: {
  families: readonly { founder: string; members: readonly string[] }[];
  colours: ReadonlyMap<string, number>;
}) {
  const named = families.filter(({ founder }) => colours.has(founder));
  const others = families.filter(({ founder }) => !colours.has(founder));
  return (
    <ul class="legend families" aria-label="Ancestors of the members">
      {named.map(({ founder, members }) => (
        <Family
          key={founder}
          colour={colours.get(founder)!}
          text={`from ${founder}: ${members.length}`}
        />
      ))}
      {others.length > 0 && (
        <Family
          colour={7}
          text={`from ${others.length} others: ${others.reduce((sum, one) => sum + one.members.length, 0)}`}
        />
      )}
    </ul>
  );
}

function Family({ colour, text }: { colour: number; text: string }) {
  return (
    <li>
      <svg viewBox="0 0 24 8" aria-hidden="true">
        <line x1="0" x2="24" y1="4" y2="4" class={`stroke-${colour}`} />
      </svg>
      {text}
    </li>
  );
}
