/**
 * `PairPanel` shows two players of a matrix: their games, each with its moves or its film, their
 * matches, and a form to play more.
 */
import { useEffect, useRef } from "preact/hooks";
import type { Objective } from "../api/reports";
import { session } from "../api/session";
import { useGet } from "../api/useGet";
import { to } from "../address";
import { decimal, short } from "../format";
import type { Game } from "../matchResults";
import { type Met, metText, together } from "../pairs";
import { labelOf } from "../playerLabels";
import { Empty, Shown } from "../ui/state";
import { type Column, Table } from "../ui/table";
import { useFilms } from "./films";
import { MATCH_COLUMNS } from "./Matches";
import { MatchForm } from "./MatchForm";

const NEWEST = 10;
/** The service gives no more matches at once. */
const MOST_MATCHES = 100;

/** A row or column of a matrix: what it is called, and which players it stands for. */
export interface Side {
  name: string;
  kind: string;
  /** By which it plays a match. */
  label: string;
  /** Ids or labels of its snapshots, or the name of another player. */
  players: readonly string[];
}

const seated = (game: Game, seat: number) => {
  const sat = game.seats[seat];
  return sat ? short(labelOf(sat.player_kind, sat.player)) : "";
};
const winner = (game: Game) => {
  const first = game.seats.flatMap(({ place }, seat) => (place === 0 ? [seated(game, seat)] : []));
  return first.length === game.seats.length ? "drawn" : `${first.join(", ")} won`;
};
const returns = (game: Game) => game.seats.map((seat) => decimal(seat.returns)).join(" – ");

function columnsOf(objective: Objective): readonly Column<Game>[] {
  return [
    {
      name: "replay",
      value: (row) => row.number,
      show: (row) => <a href={to(["games", row.id])}>game {row.number}</a>,
    },
    { name: "first seat", value: (row) => seated(row, 0) },
    { name: "second seat", value: (row) => seated(row, 1) },
    objective === "win"
      ? { name: "result", value: winner }
      : { name: "returns", value: returns, numeric: true },
    { name: "decisions", value: (row) => row.steps, numeric: true },
    { name: "ended by", value: (row) => row.end_reason },
  ];
}

interface PairOf {
  population: string;
  objective: Objective;
  row: Side;
  column: Side;
  met: Met | undefined;
  everyMs: number;
  close: () => void;
}

export function PairPanel({ population, objective, row, column, met, everyMs, close }: PairOf) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.scrollIntoView({ block: "nearest" }), [row.name, column.name]);
  const names = [row.name, column.name] as const;
  const plays = session.value === "admin" && row.kind !== "guest" && column.kind !== "guest";
  return (
    <section ref={panel} class="pair" aria-label={together(names, objective)}>
      <div class="heading">
        <h3>{together(names, objective)}</h3>
        <button class="quiet" onClick={close}>
          Close
        </button>
      </div>
      <p>{metText(objective, ...names, met)}.</p>
      <div class="beside">
        <div>
          <GamesOfPair {...{ population, objective, row, column, everyMs }} />
          <MatchesOfPair row={row} column={column} />
        </div>
        {plays && objective !== "return" && (
          <div>
            <h4>Play more</h4>
            <p class="note">
              {row.label} against {column.label}
            </p>
            <MatchForm players={[row.label, column.label]} />
          </div>
        )}
      </div>
    </section>
  );
}

function GamesOfPair({
  population,
  objective,
  row,
  column,
  everyMs,
}: Omit<PairOf, "met" | "close">) {
  const found = useGet(
    "/v1/populations/{name}/games",
    {
      path: { name: population },
      query: {
        kind: "evaluation",
        player: row.players.join(),
        opponent: column.players.join(),
        limit: NEWEST,
      },
    },
    { everyMs, population, keep: true },
  );
  const films = useFilms(population, everyMs).column;
  return (
    <Shown query={found} what="their games">
      {(list) =>
        list.items.length ? (
          <>
            <h4>{list.next ? `The newest ${NEWEST} games` : "Games"} of the training</h4>
            <Table
              label={`Games of ${row.name} and ${column.name}`}
              columns={[...columnsOf(objective), ...films]}
              rows={list.items}
              id={(game) => game.id}
            />
          </>
        ) : (
          <Empty title="They have not met in this training" />
        )
      }
    </Shown>
  );
}

/** Shows the matches of the two, where they have played any. */
function MatchesOfPair({ row, column }: { row: Side; column: Side }) {
  // The side of fewer players is asked for: a scripted player is in many matches.
  const asked = row.kind === "scripted" ? column : row;
  const found = useGet("/v1/matches", {
    query: { player: asked.players.at(-1)!.split("@")[0]!, limit: MOST_MATCHES },
  });
  const has = (side: Side, { kind, name }: { kind: string; name: string }) =>
    side.players.includes(name) || side.players.includes(labelOf(kind, name));
  const theirs = (found.value?.items ?? []).filter(({ players }) =>
    [row, column].every((side) => players.some((player) => has(side, player))),
  );
  if (!theirs.length) return null;
  return (
    <>
      <h4>Matches</h4>
      <Table
        label={`Matches of ${row.name} and ${column.name}`}
        columns={MATCH_COLUMNS}
        rows={theirs}
        id={(match) => match.id}
        cards
      />
    </>
  );
}
