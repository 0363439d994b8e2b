/**
 * `PairMatrix` is a matrix of scores, margins or returns with its numbers. A square shows the games
 * of its two players.
 */
import { useMemo } from "preact/hooks";
import { query, setQuery } from "../address";
import type { Objective } from "../api/reports";
import {
  bothSides,
  legendOf,
  type Met,
  metText,
  named,
  place,
  scaleOf,
  squareOf,
  valued,
} from "../pairs";
import { Figure } from "../ui/Figure";
import { Matrix } from "../ui/Matrix";
import { Empty } from "../ui/state";
import type { Column } from "../ui/table";
import { Value } from "../ui/value";
import { PairPanel, type Side } from "./PairPanel";

const TITLES: Record<Objective, string> = {
  win: "Who beats whom",
  margin: "Who wins how much of whom",
  return: "Return of each beside the others",
};
const NOTES: Record<Objective, string> = {
  win: "Score of the row against the column: blue above a half, orange below.",
  margin: "Mean margin a game of the row against the column: blue above 0, orange below.",
  return:
    "Mean return a game of the row beside the column; in the diagonal, with copies of itself.",
};
const NO_INTERVAL = "its games give no interval";

/** Returns the columns of the numbers of pairs. */
export function metColumns(objective: Objective): readonly Column<Met>[] {
  const { name, format } = valued(objective);
  const ends = (["value", "low", "high"] as const).map((key): Column<Met> => ({
    name: key === "value" ? name : key,
    value: (row) => row[key],
    show: (row) => <Value of={row[key]} format={format} why={NO_INTERVAL} />,
    numeric: true,
  }));
  const counts = (
    [
      ["won", "wins"],
      ["drawn", "draws"],
      ["lost", "losses"],
    ] as const
  ).map(([name, key]): Column<Met> => ({ name, value: (row) => row[key], numeric: true }));
  return [
    { name: "player", value: (row) => row.player },
    { name: valued(objective).other, value: (row) => row.opponent },
    { name: "games", value: (row) => row.games, numeric: true },
    ...(objective === "return" ? [] : counts),
    ...ends,
  ];
}

interface PairMatrixOf {
  population: string;
  objective: Objective;
  /** Rows and columns, strongest first. */
  sides: readonly Side[];
  pairs: readonly Met[];
  everyMs: number;
}

export function PairMatrix({ population, objective, sides, pairs, everyMs }: PairMatrixOf) {
  const find = query.value.get("find") ?? "";
  const byName = useMemo(() => new Map(sides.map((side) => [side.name, side])), [sides]);
  const known = useMemo(() => bothSides(objective, pairs), [objective, pairs]);
  const scale = useMemo(
    () =>
      scaleOf(
        objective,
        pairs.map((met) => met.value),
      ),
    [objective, pairs],
  );
  const names = useMemo(() => named([...byName.keys()], find), [byName, find]);
  const square = useMemo(
    () => (row: string, column: string) => {
      const met = known.get(place(row, column));
      return met && squareOf(objective, met, scale);
    },
    [known, scale],
  );
  const shown = useMemo(() => new Set(names), [names]);
  const rows = () => pairs.filter((met) => shown.has(met.player) && shown.has(met.opponent));
  const [row, column] = (query.value.getAll("pair") ?? []).map((name) => byName.get(name));
  return (
    <Figure
      title={TITLES[objective]}
      note={`${NOTES[objective]} Choose a square to see its games.`}
      columns={metColumns(objective)}
      rows={rows}
    >
      {names.length ? (
        <Matrix
          names={names}
          label={`Matrix of the ${valued(objective).name}s of ${names.length} players`}
          hint="Point at a square, or move with the arrow keys: the row's value against the column."
          legend={legendOf(objective, scale)}
          square={square}
          told={(one, other) => metText(objective, one, other, known.get(place(one, other)))}
          open={(one, other) => setQuery({ pair: [one, other] })}
        />
      ) : (
        <Empty title={`No player is called ${find}`} />
      )}
      {row && column && (
        <PairPanel
          {...{ population, objective, row, column, everyMs }}
          met={known.get(place(row.name, column.name))}
          close={() => setQuery({ pair: undefined })}
        />
      )}
    </Figure>
  );
}

/** Filters the names of a matrix. */
export function Find({ of }: { of: number }) {
  return (
    <label>
      Find
      <input
        type="search"
        placeholder={`names of ${of} players`}
        value={query.value.get("find") ?? ""}
        onInput={(event) => setQuery({ find: event.currentTarget.value })}
      />
    </label>
  );
}
