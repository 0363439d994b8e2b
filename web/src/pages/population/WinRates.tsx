/**
 * `WinRates` is the tab with the win rates of a population: over frames, as a matrix at a moment,
 * and what changed between two moments.
 */
import { useMemo } from "preact/hooks";
import { query, setQuery } from "../../address";
import type { Got } from "../../api/client";
import { useGet } from "../../api/useGet";
import { count } from "../../format";
import { Empty, Shown } from "../../ui/state";
import { CircleFigure } from "../CircleFigure";
import { Find, PairMatrix } from "../PairMatrix";
import type { Side } from "../PairPanel";
import { WinMatrixFigure } from "../WinMatrixFigure";
import { Changes } from "./MatrixChanges";
import { Frames, Recent, recentOf } from "./Moments";
import { RateChart } from "./RateChart";

type Report = Got<"/v1/populations/{name}/win-rates/matrix">;

interface TabOf {
  name: string;
  everyMs: number;
}

export function WinRates({ name, everyMs }: TabOf) {
  const bySnapshots = query.value.get("by") === "snapshots";
  return (
    <>
      <RateChart name={name} everyMs={everyMs} />
      {bySnapshots ? (
        <OfSnapshots name={name} everyMs={everyMs} />
      ) : (
        <div class="matrices">
          <div>
            <OfMembers name={name} everyMs={everyMs} />
          </div>
          <div>
            <Changes name={name} everyMs={everyMs} />
          </div>
        </div>
      )}
    </>
  );
}

/** Chooses between members and snapshots. */
function Rows({ snapshots }: { snapshots: boolean }) {
  return (
    <label>
      Players
      <select
        value={snapshots ? "snapshots" : "members"}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          setQuery({ by: chosen === "snapshots" ? chosen : undefined, pair: undefined });
        }}
      >
        <option value="members">members</option>
        <option value="snapshots">all snapshots</option>
      </select>
    </label>
  );
}

function OfSnapshots({ name, everyMs }: TabOf) {
  const found = useGet(
    "/v1/win-matrix",
    { query: { population: name } },
    { everyMs, population: name },
  );
  return (
    <>
      <div class="choices">
        <Rows snapshots />
        <Find of={found.value?.players.length ?? 0} />
      </div>
      <Shown query={found} what="the win matrix">
        {(report) => <WinMatrixFigure report={report} population={name} everyMs={everyMs} />}
      </Shown>
    </>
  );
}

function OfMembers({ name, everyMs }: TabOf) {
  const at = query.value.get("at");
  const recent = recentOf();
  const found = useGet(
    "/v1/populations/{name}/win-rates/matrix",
    { path: { name }, query: { frames: at === null ? undefined : Number(at), recent } },
    { everyMs, population: name, keep: true },
  );
  const newest = found.value?.newest_frames ?? 0;
  return (
    <>
      <div class="choices">
        <Rows snapshots={false} />
        <Recent />
        <Find of={found.value?.sides.length ?? 0} />
        <Roles report={found.value} />
        <Frames
          title="Moment"
          value={at === null ? newest : Number(at)}
          newest={newest}
          change={(frames) => setQuery({ at: frames >= newest ? undefined : String(frames) })}
          text={at === null ? "now" : `at ${count(Number(at))} frames`}
        />
      </div>
      <Shown query={found} what="the matrix">
        {(report) => <OfMoment report={report} everyMs={everyMs} />}
      </Shown>
    </>
  );
}

/** Chooses the role of the rows and columns, where members play several. */
function Roles({ report }: { report: Report | undefined }) {
  const roles = [...new Set((report?.sides ?? []).flatMap(({ role }) => role ?? []))].sort();
  if (roles.length < 2) return null;
  return (
    <label>
      Role
      <select
        value={query.value.get("role") ?? ""}
        onChange={(event) => setQuery({ role: event.currentTarget.value })}
      >
        <option value="">all</option>
        {roles.map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
    </label>
  );
}

/** Returns what the rows and columns of a matrix of members stand for, role by role. */
function sidesOf(sides: Report["sides"], role: string | null): Side[] {
  const roles = [...new Set(sides.flatMap((side) => side.role ?? []))].sort();
  // Players of any role stand last; within a role the strongest stand first.
  const order = (side: Report["sides"][number]) =>
    side.role === null ? roles.length : roles.indexOf(side.role);
  return sides
    .filter((side) => !role || side.role === null || side.role === role)
    .sort((a, b) => (roles.length > 1 ? order(a) - order(b) : 0))
    .map(({ name, kind, label, snapshots }) => ({
      name,
      kind,
      label,
      players: kind === "member" ? snapshots.slice(-100) : [name],
    }));
}

function OfMoment({ report, everyMs }: { report: Report; everyMs: number }) {
  const role = query.value.get("role");
  const sides = useMemo(() => sidesOf(report.sides, role), [report, role]);
  if (report.pairs.length === 0) return <NotMet early={report.frames < report.newest_frames} />;
  return (
    <>
      <PairMatrix
        population={report.population}
        objective={report.objective}
        sides={sides}
        pairs={report.pairs}
        everyMs={everyMs}
      />
      {report.cycles.length > 0 && <CircleFigure circles={report.cycles} />}
    </>
  );
}

function NotMet({ early }: { early: boolean }) {
  return (
    <Empty title={early ? "No players had met at that moment" : "These players have not met yet"}>
      <p>
        Evaluation games are played between the newest snapshots of the members, and against{" "}
        <code>random</code>. More newest snapshots of each member show more games.
      </p>
    </Empty>
  );
}
