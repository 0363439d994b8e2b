/**
 * `Replay` shows the moves of a stored game, which the service plays again from its seed and its
 * actions.
 */
import { useEffect, useState } from "preact/hooks";
import type { Got } from "../api/client";
import type { Objective } from "../api/reports";
import { useGet } from "../api/useGet";
import { drops } from "../board";
import { decimal } from "../format";
import { gainsText } from "../strength";
import { query, setQuery, to } from "../address";
import { Board } from "../ui/Board";
import { Moves } from "../ui/Moves";
import { Sides } from "../ui/Sides";
import { Empty, Shown } from "../ui/state";
import { type Column, Table } from "../ui/table";
import { PlayerLink } from "./PlayerLink";

type ReplayBody = Got<"/v1/games/{game_id}/replay">;
type Move = ReplayBody["moves"][number];

const STEP_MS = 800;

/**
 * noFilm: why the game has no film
 * film: another game of the same population that has one
 */
export function Replay({
  id,
  objective,
  noFilm,
  film,
}: {
  id: string;
  objective: Objective;
  noFilm: string;
  film?: string | undefined;
}) {
  const found = useGet(
    "/v1/games/{game_id}/replay",
    { path: { game_id: id } },
    { everyMs: 0, population: "" },
  );
  const refused =
    found.problem !== null &&
    found.problem.status > 0 &&
    found.problem.status !== 429 &&
    found.problem.status < 500;
  if (found.problem && refused && !found.value) {
    return (
      <Empty title="There is nothing to see of this game">
        <p>{noFilm}.</p>
        <p>{found.problem.detail || found.problem.title}.</p>
        {film && (
          <p>
            <a href={to(["games", film])}>The newest film</a>
          </p>
        )}
      </Empty>
    );
  }
  return (
    <Shown query={found} what="its moves: it is played again">
      {(replay) => (
        <>
          {replay.problems.length > 0 && (
            <div class="state failed" role="alert">
              <p class="state-title">It does not replay as it was stored</p>
              {replay.problems.map((line) => (
                <p key={line}>{line}</p>
              ))}
            </div>
          )}
          {replay.start === null ? (
            <Lines replay={replay} />
          ) : (
            <Stepper replay={replay} objective={objective} start={replay.start} />
          )}
          <p class="note">
            In a terminal: <code>arena replay {replay.game}</code>
          </p>
        </>
      )}
    </Shown>
  );
}

/** Shows the board after each move. The address says which move. */
function Stepper({
  replay,
  objective,
  start,
}: {
  replay: ReplayBody;
  objective: Objective;
  start: string;
}) {
  const frames = [start, ...replay.moves.map((move) => move.board ?? start)];
  const last = frames.length - 1;
  const at = moveShown(last);
  const [plays, setPlays] = useState(false);
  const show = (made: number) =>
    setQuery({ move: made > 0 ? String(Math.min(last, made)) : undefined });
  // It steps from the address as it is now, which may be newer than what is drawn.
  const step = (by: number) => show(moveShown(last) + by);
  useEffect(() => {
    if (!plays) return;
    if (at >= last) return setPlays(false);
    const timer = setTimeout(() => step(1), STEP_MS);
    return () => clearTimeout(timer);
  }, [plays, at]);
  const toggle = () => {
    if (!plays && at >= last) show(0);
    setPlays(!plays);
  };
  useKeys({
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    Home: () => show(0),
    End: () => show(last),
    " ": toggle,
  });
  const move = replay.moves[at - 1];
  return (
    <div class="table-of-two">
      <div>
        <Board
          grid={replay.grid}
          position={frames[at]!}
          before={at ? frames[at - 1] : null}
          falls={drops(replay.moves)}
          long={replay.in_a_row ?? null}
        />
        <div class="stepper">
          <button aria-label="First" disabled={at === 0} onClick={() => show(0)}>
            «
          </button>
          <button aria-label="Back" disabled={at === 0} onClick={() => step(-1)}>
            ‹
          </button>
          <button class="primary" onClick={toggle}>
            {plays ? "Pause" : "Play"}
          </button>
          <button aria-label="Forward" disabled={at === last} onClick={() => step(1)}>
            ›
          </button>
          <button aria-label="Last" disabled={at === last} onClick={() => show(last)}>
            »
          </button>
          <input
            type="range"
            aria-label="Move"
            min={0}
            max={last}
            value={at}
            onInput={(event) => show(event.currentTarget.valueAsNumber)}
          />
          <span class="number" role="status">
            {at} of {last}
          </span>
        </div>
      </div>
      <aside>
        <Sides
          names={replay.seats.map((seat) => (
            <PlayerLink key={seat.seat} label={seat.player} kind={seat.kind} />
          ))}
          now={move?.seat}
          pieces={replay.grid !== null}
        />
        <p class="note">
          {at === 0
            ? "Before the first move"
            : `Move ${at}${move?.opening ? ", a random opening move" : ""}`}
          {at === last &&
            `: ${result({ objective, seats: replay.seats, labels: replay.seats.map((seat) => seat.player) })}`}
          .
        </p>
        <Moves moves={replay.moves} grid={replay.grid} now={at} go={show} />
        <p class="note">Arrow keys step, the space bar plays.</p>
      </aside>
    </div>
  );
}

/**
 * Returns how many moves are shown, by the address.
 * last: moves of the game
 */
function moveShown(last: number): number {
  const asked = Number.parseInt(query.value.get("move") ?? "", 10);
  return Number.isNaN(asked) ? 0 : Math.min(last, Math.max(0, asked));
}

/** Handles keys for the whole page, but not where a control has its own use for them. */
function useKeys(keys: Record<string, () => void>): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const act = keys[event.key];
      const taken =
        event.target instanceof Element &&
        event.target.closest("input, select, textarea, button, a, video, summary, [role=region]");
      if (!act || taken || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}

/** Shows the moves of a game without a board as a table. */
function Lines({ replay }: { replay: ReplayBody }) {
  const columns: readonly Column<Move>[] = [
    { name: "step", value: (row) => row.step, numeric: true },
    { name: "player", value: (row) => replay.seats[row.seat]?.player },
    {
      name: "action",
      value: (row) => row.name ?? JSON.stringify(row.action),
      show: (row) =>
        `${row.name ?? JSON.stringify(row.action)}${row.opening ? " (random opening)" : ""}`,
    },
    {
      name: "rewards",
      value: (row) => JSON.stringify(row.rewards),
      show: (row) => rewards(row, replay),
    },
  ];
  return <Table label="Moves" columns={columns} rows={replay.moves} />;
}

function rewards(move: Move, { seats, reward_terms: terms }: ReplayBody): string {
  const label = (term: number) => (terms.length > 1 ? ` ${terms[term]}` : "");
  const words = Object.entries(move.rewards).flatMap(([seat, values]) =>
    values.flatMap((value, term) =>
      value ? [`${seats[Number(seat)]?.seat} ${decimal(value)}${label(term)}`] : [],
    ),
  );
  return words.join(", ");
}

/** Says who won a game, or what its seats gained where that counts. */
export function result(game: {
  labels: readonly string[];
  objective: Objective;
  seats: readonly { place: number; returns: number }[];
}): string {
  const first = game.labels.filter((_, seat) => game.seats[seat]?.place === 0);
  const gains = game.seats.map(({ returns }) => returns);
  if (game.objective === "return") return `return ${gainsText(gains, "return")}`;
  return first.length === game.seats.length ? "drawn" : `${first.join(", ")} won`;
}
