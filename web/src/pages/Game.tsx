/** `Game` is the page of one stored game: its result, and its film or its replay. */
import { useState } from "preact/hooks";
import type { Got } from "../api/client";
import { useGet } from "../api/useGet";
import { when } from "../format";
import { together } from "../pairs";
import { to } from "../address";
import { ROOT } from "../root";
import { Empty, Shown } from "../ui/state";
import { Fact } from "../ui/value";
import { Replay, result } from "./Replay";

type GameBody = Got<"/v1/games/{game_id}">;

export function Game({ id }: { id: string }) {
  const found = useGet(
    "/v1/games/{game_id}",
    { path: { game_id: id } },
    { everyMs: 0, population: "" },
  );
  return (
    <Shown query={found} what="the game">
      {(game) => (
        <>
          <h1>{together(game.labels, game.objective)}</h1>
          <dl class="facts">
            <Fact name="result">{result(game)}</Fact>
            <Fact name="game">{game.env}</Fact>
            <Fact name="played in">
              {game.match ? (
                <a href={to(["matches", game.match])}>match {game.match}</a>
              ) : (
                game.population && (
                  <a href={to(["populations", game.population])}>{game.population}</a>
                )
              )}
            </Fact>
            <Fact name="decisions">{game.steps}</Fact>
            <Fact name="ended by">{game.end_reason}</Fact>
            <Fact name="stored">{when(game.committed_at)}</Fact>
          </dl>
          {game.no_replay ? (
            <NoReplay game={game} why={game.no_replay} />
          ) : game.population ? (
            <Filmed game={game} />
          ) : (
            <Replay id={game.id} objective={game.objective} noFilm={OF_MATCHES} />
          )}
        </>
      )}
    </Shown>
  );
}

function NoReplay({ game, why }: { game: GameBody; why: string }) {
  return (
    <Empty title="Its moves are not stored">
      <p>{why}.</p>
      {game.kind === "training" && <p>Evaluation games and matches keep their moves.</p>}
    </Empty>
  );
}

const OF_MATCHES = "Games of matches are not filmed; arena watch films games of the same players";

/** Shows the film of a game, where its training made one; else its replay. */
function Filmed({ game }: { game: GameBody }) {
  const [broken, setBroken] = useState(false);
  const films = useGet(
    "/v1/populations/{name}/films",
    { path: { name: game.population! } },
    { everyMs: 0, population: "" },
  );
  return (
    <Shown query={films} what="its film">
      {({ items, problem }) =>
        items.some((film) => film.game === game.id) ? (
          broken ? (
            <Replay id={game.id} objective={game.objective} noFilm={NOT_PLAYABLE} />
          ) : (
            <video
              class="film"
              src={`${ROOT}/v1/games/${game.id}/film`}
              aria-label={`Film of ${together(game.labels, game.objective)}`}
              controls
              preload="metadata"
              onError={() => setBroken(true)}
            />
          )
        ) : (
          <Replay
            id={game.id}
            objective={game.objective}
            noFilm={problem ?? NOT_RECORDED}
            film={items[0]?.game}
          />
        )
      }
    </Shown>
  );
}

const NOT_PLAYABLE =
  "Its film cannot be played: it made room for newer ones, " +
  "or this browser does not know its format";
const NOT_RECORDED =
  "It was not filmed: evaluation.record_share says how many of a training's evaluation games " +
  "are, and old films make room for new ones";
