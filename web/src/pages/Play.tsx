/** `Play` is the page of a game by hand, move by move to its end. */
import { useEffect, useState } from "preact/hooks";
import { change, type Got, ServiceProblem } from "../api/client";
import { session } from "../api/session";
import { useGet } from "../api/useGet";
import { type Choice, choiceName, drops, outcome } from "../board";
import { go, query, to } from "../address";
import { Board } from "../ui/Board";
import { Confirm } from "../ui/Confirm";
import { Moves } from "../ui/Moves";
import { useSending } from "../ui/sending";
import { Sides } from "../ui/Sides";
import { Empty, Failed, Shown } from "../ui/state";
import { begin, chooseAgain } from "./SitDown";

export type PlayBody = Got<"/v1/plays/{play_id}">;

const SOON_MS = 300;
const SELDOM_MS = 5000;
/** The time between a move of the person and the answer, so that both are seen. */
const ANSWER_MS = 450;

export function Play({ id }: { id: string }) {
  const [waits, setWaits] = useState(true);
  const found = useGet(
    "/v1/plays/{play_id}",
    { path: { play_id: id } },
    { everyMs: waits ? SOON_MS : SELDOM_MS, population: "" },
  );
  const [answered, setAnswered] = useState<PlayBody>();
  const play = found.value && newer(found.value, answered);
  const waiting = play?.state === "starting" || play?.state === "thinking";
  useEffect(() => setWaits(waiting || play === undefined), [waiting, play === undefined]);
  if (found.problem?.status === 404 && !play?.result)
    return <BoardCleared problem={found.problem} />;
  return (
    <Shown query={found} what="the board">
      {() =>
        play &&
        (play.seats ? <GameInPlay play={play} done={setAnswered} /> : <NotBegun play={play} />)
      }
    </Shown>
  );
}

/**
 * Returns the newer of two answers: the answer to a move can be overtaken by one that was asked for
 * before it.
 */
export function newer(polled: PlayBody, answered: PlayBody | undefined): PlayBody {
  if (!answered || polled.moves.length > answered.moves.length) return polled;
  return answered.moves.length > polled.moves.length ||
    (answered.result && !polled.result) ||
    answered.message
    ? answered
    : polled;
}

function BoardCleared({ problem }: { problem: ServiceProblem }) {
  return (
    <Empty title="This board was cleared">
      <p>
        {problem.detail}. A finished game stays in the league; one that was cut off is not stored.
      </p>
      <p>
        <a class="button" href={to(["play"])}>
          Sit down again
        </a>
      </p>
    </Empty>
  );
}

/** Shows that the opponent is being started, or why there is no game. */
function NotBegun({ play }: { play: PlayBody }) {
  if (play.state === "starting") {
    return (
      <div class="state loading" role="status">
        <p>{play.opponent} is being seated …</p>
      </div>
    );
  }
  return (
    <div class="state failed" role="alert">
      <p class="state-title">There is no game</p>
      <p>{play.message}</p>
      <a class="button" href={chooseAgain(play)}>
        Choose again
      </a>
    </div>
  );
}

function GameInPlay({ play, done }: { play: PlayBody; done: (play: PlayBody) => void }) {
  const { busy, problem, send } = useSending();
  const [missed, setMissed] = useState("");
  const shown = useUnrolled(play.moves, play.seat);
  const before = shown > 1 ? play.moves[shown - 2]?.board : play.start;
  const position = (shown ? play.moves[shown - 1]?.board : play.start) ?? "";
  const settled = shown === play.moves.length;
  const admin = session.value === "admin";
  const run = (ask: () => Promise<PlayBody>) => {
    setMissed("");
    void send(async () => done(await ask()));
  };
  const choose = ({ action }: Choice) =>
    run(() =>
      change(
        "post",
        "/v1/plays/{play_id}/moves",
        { path: { play_id: play.id } },
        { action, at: play.moves.length },
      ),
    );
  const mine = play.state === "turn" && settled && admin;
  return (
    <>
      <h1>{names(play).join(" against ")}</h1>
      <div class="table-of-two">
        <div>
          <p class="said" role="status">
            {turnText(play, settled)}
          </p>
          <p class="unseen" aria-live="polite">
            {answerOf(play, shown)}
          </p>
          <Board
            grid={play.grid}
            position={position}
            before={shown ? before : null}
            falls={drops([...play.moves, ...play.legal])}
            long={play.in_a_row}
            choosing={mine ? { legal: play.legal, choose, miss: setMissed, busy } : undefined}
          />
          {missed && (
            <p class="warning" role="alert">
              {missed} cannot be played now: a dot marks what can.
            </p>
          )}
          {problem && <Failed problem={problem} />}
        </div>
        <aside>
          <Sides
            names={names(play)}
            now={play.state === "turn" && settled ? play.seat : undefined}
            pieces={play.grid !== null}
          />
          {play.result ? (
            <GameOver play={play} result={play.result} />
          ) : (
            admin && play.state === "turn" && <Resign play={play} run={run} />
          )}
          {(play.state === "dropped" || play.state === "failed") && (
            <p class="wrong" role="alert">
              {play.message}
            </p>
          )}
          <h2>Moves</h2>
          {play.moves.length ? (
            <Moves moves={play.moves.slice(0, shown)} grid={play.grid} />
          ) : (
            <p class="note">None yet.</p>
          )}
          {!play.result && (
            <p class="note">
              The game is stored when it is over, as a guest's, and rated like every other. Arrow
              keys go from move to move, Enter plays.
            </p>
          )}
        </aside>
      </div>
    </>
  );
}

function names(play: PlayBody): string[] {
  return play.seats?.map((seat) => seat.player) ?? [];
}

/**
 * Says the newest move of the opponent in words, for people who do not see the board.
 * shown: how many moves are on the board
 */
export function answerOf(
  { moves, seat, seats, grid }: Pick<PlayBody, "moves" | "seat" | "seats" | "grid">,
  shown: number,
): string {
  const move = moves[shown - 1];
  return !move || move.seat === seat
    ? ""
    : `${seats?.[move.seat]?.player} played ${choiceName(move, grid)}.`;
}

function turnText(play: PlayBody, settled: boolean): string {
  if (!settled) return "…";
  if (play.result)
    return { won: "You won.", lost: "You lost.", drawn: "A draw." }[
      outcome(play.result.places, play.seat)
    ];
  if (play.state === "turn") return play.moves.length ? "Your move." : "You begin.";
  return play.state === "thinking"
    ? `${names(play)[1 - play.seat]} thinks …`
    : "This game was not finished.";
}

function GameOver({ play, result }: { play: PlayBody; result: NonNullable<PlayBody["result"]> }) {
  const { busy, problem, send } = useSending();
  const population = play.seats?.[1 - play.seat]?.player.split("/")[0] ?? "";
  const trained = play.seats?.[1 - play.seat]?.kind === "snapshot";
  const again = { opponent: play.opponent, env: trained ? null : play.env, name: play.name };
  const next = (seat: number) =>
    void send(() => begin({ ...again, seat }, query.value.get("population")));
  return (
    <>
      {result.reason !== "rules" && <p class="note">{result.reason}</p>}
      {session.value === "admin" && (
        <div class="buttons">
          <button class="primary" disabled={busy} onClick={() => next(play.seat)}>
            Again
          </button>
          <button disabled={busy} onClick={() => next(1 - play.seat)}>
            Swap seats
          </button>
          <button onClick={() => go(chooseAgain(play))}>Another opponent</button>
        </div>
      )}
      {problem && <Failed problem={problem} />}
      <p>
        Stored as <a href={to(["games", result.game])}>game 0 of match {result.match}</a>
        {trained && (
          <>
            {" "}
            and rated in <a href={to(["league"], { population })}>the league</a>
          </>
        )}
        .
      </p>
    </>
  );
}

function Resign({ play, run }: { play: PlayBody; run: (ask: () => Promise<PlayBody>) => void }) {
  const [asking, setAsking] = useState(false);
  const begun = play.moves.some((move) => move.seat === play.seat);
  return (
    <div class="buttons">
      <button onClick={() => setAsking(true)}>{begun ? "Resign" : "Leave"}</button>
      {asking && (
        <Confirm
          title={begun ? "Resign" : "Leave"}
          close={() => setAsking(false)}
          act={() =>
            run(() => change("delete", "/v1/plays/{play_id}", { path: { play_id: play.id } }))
          }
        >
          <p>{begun ? "The game counts as lost." : "You have not moved yet: nothing is stored."}</p>
        </Confirm>
      )}
    </div>
  );
}

/**
 * Returns how many moves are shown. New moves of the opponent appear one after the other, those of
 * the person at once, and so do those that were there at the beginning.
 */
function useUnrolled(moves: PlayBody["moves"], seat: number): number {
  const made = moves.length;
  const [shown, setShown] = useState(made);
  useEffect(() => {
    if (shown >= made) return;
    const quick =
      moves[shown]?.seat === seat || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const timer = setTimeout(() => setShown(shown + 1), quick ? 0 : ANSWER_MS);
    return () => clearTimeout(timer);
  }, [shown, made]);
  return Math.min(shown, made);
}
