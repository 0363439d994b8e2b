/** A match of the league, game by game. */
import { useState } from "preact/hooks";
import { type Got } from "../api/client";
import { when } from "../format";
import { labelOf } from "../labels";
import { useGet } from "../query";
import { type Column, Empty, Shown, Table, Take, Value } from "../ui/parts";
import { Fact } from "./Evaluation";

type Game = Got<"/v1/matches/{match_id}/games">["items"][number];

const GAMES: readonly Column<Game>[] = [
  { name: "number", value: (row) => row.number, numeric: true },
  { name: "pair", value: (row) => row.pair, show: (row) => <Value of={row.pair} format={String} why="not played in pairs" />, numeric: true },
  { name: "seats", value: (row) => row.seats.map((seat) => seat.player).join(" "), show: (row) => row.seats.map((seat) => labelOf(seat.player_kind, seat.player)).join(" – ") },
  { name: "result", value: (row) => row.seats.map((seat) => seat.place).join(" "), show: result },
  { name: "decisions", value: (row) => row.steps, numeric: true },
  { name: "ended by", value: (row) => row.end_reason },
  { name: "seed", value: (row) => row.seed, numeric: true },
];

function result(game: Game): string {
  const first = game.seats.filter((seat) => seat.place === 0);
  if (first.length === game.seats.length) return "drawn";
  return `${first.map((seat) => labelOf(seat.player_kind, seat.player)).join(", ")} won`;
}

export function Match({ id }: { id: string }) {
  const found = useGet("/v1/matches/{match_id}", { path: { match_id: id } });
  const [cursor, setCursor] = useState<string | undefined>();
  const games = useGet("/v1/matches/{match_id}/games", { path: { match_id: id }, query: { limit: 100, cursor } });
  return (
    <Shown query={found} what={`match ${id}`}>
      {(match) => (
        <>
          <h1>
            Match {id}: {match.players.map((player) => labelOf(player["kind"]!, player["name"]!)).join(" against ")}
          </h1>
          <dl class="facts">
            <Fact name="game">{match.env}</Fact>
            <Fact name="games planned">{match.games}</Fact>
            <Fact name="seed">{match.seed}</Fact>
            <Fact name="moves">{match.settings["greedy"] ? "greedy" : "sampled"}</Fact>
            <Fact name="begun">{when(match.created_at)}</Fact>
            <Fact name="finished">{match.finished_at === null ? <Value of={null} format={String} why="it is open" /> : when(match.finished_at)}</Fact>
          </dl>
          <p class="note">
            <code>arena match --resume {id}</code> prints its statistics.
          </p>
          <Shown query={games} what="games">
            {(list) =>
              list.items.length ? (
                <>
                  <Take name={`games of match ${id}`} columns={GAMES} rows={list.items} />
                  <Table label="Games, newest first" columns={GAMES} rows={list.items} id={(row) => row.id} />
                  <div class="buttons">
                    {cursor && <button onClick={() => setCursor(undefined)}>Newest games</button>}
                    {list.next && <button onClick={() => setCursor(list.next!)}>Older games</button>}
                  </div>
                </>
              ) : (
                <Empty title="No game was finished yet" />
              )
            }
          </Shown>
        </>
      )}
    </Shown>
  );
}
