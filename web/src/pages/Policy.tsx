/**
 * `Policy` is the page of one policy: its rating, its opponents, where its weights come from, its
 * schedule, its weights as a file.
 */
import type { Got } from "../api/client";
import type { LineageStep, Objective, WinMatrixReport } from "../api/reports";
import { MOST_SNAPSHOTS, type Query, useGet } from "../api/useGet";
import { bytes, capital, count, decimal, when } from "../format";
import { to } from "../address";
import { valued } from "../pairs";
import { ROOT } from "../root";
import { countedIn, headlineOf, strengthOf } from "../strength";
import { Chart } from "../ui/Chart";
import { Downloads } from "../ui/Downloads";
import { Figure } from "../ui/Figure";
import type { Line } from "../ui/lines";
import { cells } from "../ui/Matrix";
import { Empty, Shown, whyNot } from "../ui/state";
import { type Column, Table } from "../ui/table";
import { Fact, Value } from "../ui/value";
import { reasonText } from "../verdictText";
import { decidedColumns } from "./pairColumns";
import { PlayerLink } from "./PlayerLink";
import { SitDownLink } from "./SitDownLink";
import { SteadyValues, steadyValue } from "./SteadyValues";
import { Strength } from "./Strength";

const STEPS: readonly Column<LineageStep>[] = [
  { name: "frames", value: (row) => row.frames, show: (row) => count(row.frames), numeric: true },
  { name: "member", value: (row) => row.member },
  { name: "what", value: (row) => row.kind, show: came },
  {
    name: "changed",
    value: (row) => row.changed.join(" "),
    show: (row) =>
      row.changed.map((key) => `${key} = ${decimal(row.hyperparams[key]!)}`).join(", ") ||
      "nothing",
  },
  {
    name: "why",
    value: (row) => row.verdict,
    show: (row) => reasonText(row.verdict ?? ""),
    wide: true,
  },
];

function came(step: LineageStep): string {
  if (step.began) return `starts with the weights of ${step.began.player}`;
  const taken = step.kind === "join" ? "joins with the weights" : step.kind;
  return step.donor ? `${taken} of ${step.donor.member} at ${count(step.donor.frames)}` : step.kind;
}

type Met = ReturnType<typeof cells> extends Map<string, infer One> ? One : never;

/** Returns the columns of the players that it met. */
function opponentColumns(objective: Objective): readonly Column<Met>[] {
  return [
    {
      name: valued(objective).other,
      value: (row) => row.column,
      show: (row) => <PlayerLink label={row.column} />,
    },
    ...decidedColumns<Met>(objective, (row) => row),
    { name: "games", value: (row) => row.games, numeric: true },
  ];
}

export function Policy({ population, player }: { population: string; player: string }) {
  const found = useGet(
    "/v1/populations/{name}/lineage",
    { path: { name: population }, query: { player } },
    { everyMs: 0, population },
  );
  const ratings = useGet("/v1/ratings", { query: { population } }, { population });
  const matrix = useGet("/v1/win-matrix", { query: { population } }, { population });
  const snapshots = useGet(
    "/v1/populations/{name}/snapshots",
    { path: { name: population }, query: { limit: MOST_SNAPSHOTS } },
    { everyMs: 0, population },
  );
  return (
    <Shown query={found} what={player}>
      {(lineage) => {
        const snapshot = snapshots.value?.items.find((one) => one.id === lineage.snapshot);
        const table = ratings.value;
        const rated = table?.players.find((row) => row.id === lineage.snapshot);
        const strength = table && rated && strengthOf(rated, table.objective);
        const steps = [...lineage.steps].reverse();
        return (
          <>
            <h1>
              <a href={to(["populations", population])}>{population}</a>/{player}
            </h1>
            <dl class="facts">
              <Fact name={table ? countedIn(table.objective).name : "rating"}>
                {strength ? (
                  <>
                    <Strength of={strength} /> <small class="number">{strength.interval}</small>
                  </>
                ) : (
                  <Value
                    of={null}
                    format={String}
                    why={whyNot(ratings, "it has not played for a rating")}
                  />
                )}
              </Fact>
              <Fact name="frames of the member">{count(lineage.frames)}</Fact>
              <Fact name="frames of these weights">{count(lineage.lineage_frames)}</Fact>
              <Fact name="copies behind it">
                {lineage.steps.filter((step) => step.kind === "copy").length}
              </Fact>
              {snapshot && <Fact name="frozen">{when(snapshot.created_at)}</Fact>}
            </dl>
            {lineage.snapshot === null ? (
              <p class="note">It still learns; a snapshot of it can be downloaded.</p>
            ) : (
              <Weights query={snapshots} id={lineage.snapshot} />
            )}
            {(snapshot?.has_weights ?? lineage.snapshot === null) && (
              <p>
                <SitDownLink
                  population={population}
                  opponent={player === "best" ? `${population}@best` : `${population}/${player}`}
                >
                  Sit down and play against it
                </SitDownLink>
              </p>
            )}
            <h2>Where it comes from</h2>
            <Downloads name={`lineage of ${population}-${player}`} columns={STEPS} rows={steps} />
            <Table label="Ancestry, newest first" columns={STEPS} rows={steps} cards />
            <h2>Its schedule</h2>
            <Schedule steps={lineage.steps} until={lineage.lineage_frames} />
            {table?.objective !== "return" && (
              <>
                <h2>Whom it met</h2>
                <Shown query={matrix} what="whom it met">
                  {(report) => (
                    <Opponents
                      label={lineage.snapshot ? `${population}/${player}` : null}
                      matrix={report}
                      id={rated?.player}
                    />
                  )}
                </Shown>
              </>
            )}
          </>
        );
      }}
    </Shown>
  );
}

/**
 * Draws its hyperparameters over the frames of its weights: through every copy, back to the first
 * frame.
 */
function Schedule({ steps, until }: { steps: readonly LineageStep[]; until: number }) {
  const keys = [...new Set(steps.flatMap((step) => Object.keys(step.hyperparams)))].sort();
  const columns = (key: string): readonly Column<LineageStep>[] => [
    { name: "frames", value: (row) => row.frames, numeric: true },
    { name: key, value: (row) => row.hyperparams[key], numeric: true, why: "it was not set then" },
    { name: "by", value: (row) => row.kind },
  ];
  const steady = keys.flatMap((key) => {
    const value = steadyValue(steps.map((step) => step.hyperparams[key]));
    return value === null ? [] : [[key, value] as const];
  });
  const moved = keys.filter((key) => !steady.some(([name]) => name === key));
  return (
    <>
      <SteadyValues of={steady} />
      <div class="figures">
        {moved.map((key) => (
          <Figure key={key} title={key} columns={columns(key)} rows={steps}>
            <Chart label={key} lines={[scheduleLine(steps, key, until)]} height={160} />
          </Figure>
        ))}
      </div>
    </>
  );
}

export function scheduleLine(steps: readonly LineageStep[], key: string, until: number): Line {
  const values = steps.map((step) => step.hyperparams[key] ?? null);
  const marks = steps.flatMap((step) =>
    step.donor && step.hyperparams[key] !== undefined
      ? [{ x: step.frames, y: step.hyperparams[key] }]
      : [],
  );
  return {
    name: key,
    colour: 0,
    x: [...steps.map((step) => step.frames), until],
    y: [...values, values.at(-1) ?? null],
    steps: true,
    ...(marks.length && { marks }),
  };
}

type Snapshots = Got<"/v1/populations/{name}/snapshots">;

function Weights({ query, id }: { query: Query<Snapshots>; id: string }) {
  return (
    <Shown query={query} what="its weights">
      {({ items }) => {
        const snapshot = items.find((one) => one.id === id);
        // A snapshot that a resume took back is not in the list.
        if (!snapshot) return null;
        return (
          <p>
            {snapshot.has_weights ? (
              <>
                <a class="button" href={`${ROOT}/v1/snapshots/${id}/weights`} download>
                  Download weights (safetensors, {bytes(snapshot.size_bytes)})
                </a>{" "}
                <a
                  class="button"
                  href={`${ROOT}/v1/snapshots/${id}/card`}
                  download={`${id.slice(0, 12)}.safetensors.json`}
                  title="Beside the weights, arena import takes both into another league"
                >
                  and their card
                </a>
              </>
            ) : (
              "Its weights were removed; its games stay."
            )}{" "}
            <code>{id.slice(0, 16)}</code>
          </p>
        );
      }}
    </Shown>
  );
}

function Opponents({
  label,
  matrix: { objective, pairs },
  id,
}: {
  label: string | null;
  matrix: WinMatrixReport;
  id: string | undefined;
}) {
  const mine = [...cells(pairs).values()]
    .filter((cell) => cell.row === (id ?? label))
    .sort((a, b) => headlineOf(b).value - headlineOf(a).value);
  if (mine.length === 0) return <Empty title="It has not met another player for a rating yet" />;
  const columns = opponentColumns(objective);
  const others = `${valued(objective).other}s`;
  return (
    <>
      <Downloads name={`${others} of ${id ?? label}`} columns={columns} rows={mine} />
      <Table
        label={`${capital(others)}, best ${objective === "margin" ? "margin" : "score"} first`}
        columns={columns}
        rows={mine}
        id={(row) => row.column}
      />
    </>
  );
}
