/**
 * `SitDown` is the page on which a person chooses an opponent, a seat and a name for a game by
 * hand.
 */
import { useState } from "preact/hooks";
import { change } from "../api/client";
import { gameOf } from "../api/reports";
import { session } from "../api/session";
import { MOST_SNAPSHOTS, useGet } from "../api/useGet";
import { hasBoard } from "../board";
import { go, query, setQuery, to } from "../address";
import { useSending } from "../ui/sending";
import { Empty, Failed, Shown } from "../ui/state";
import { opponents } from "./opponents";

const KEPT_NAME = "pbt-arena name";

interface GameWish {
  opponent: string;
  /** The game, for an opponent that was not trained; a trained one plays only its own. */
  env: string | null;
  name: string;
  seat: number;
}

/**
 * Asks for a board and goes to it.
 * population: the one from which the opponent was chosen
 */
export async function begin(game: GameWish, population: string | null): Promise<void> {
  const made = await change("post", "/v1/plays", {}, game);
  go(to(["play", made.id], { population: population ?? undefined }));
}

/** Returns the address of this form, filled in as for a game. */
export function chooseAgain({ opponent, seat }: { opponent: string; seat: number }): string {
  const population = query.value.get("population") ?? /^([^/@]+)[/@]/.exec(opponent)?.[1];
  return to(["play"], { population, opponent, seat: String(seat) });
}

export function SitDown() {
  const populations = useGet("/v1/populations", { query: { limit: 500 } }, { everyMs: 0 });
  return (
    <>
      <h1>Sit down and play</h1>
      {session.value !== "admin" ? (
        <Empty title="A viewer watches">
          <p>
            A game by hand is stored in the league, which takes an admin's session: run{" "}
            <code>arena open</code> on the machine of the service.
          </p>
        </Empty>
      ) : (
        <Shown query={populations} what="populations">
          {(list) => {
            const names = list.items.map((one) => one.id);
            const chosen = query.value.get("population") ?? names[0];
            return chosen === undefined ? (
              <NoPopulation />
            ) : (
              <FormOfPopulation
                key={chosen}
                population={chosen}
                populations={[...new Set([...names, chosen])]}
                cut={list.next !== null}
              />
            );
          }}
        </Shown>
      )}
    </>
  );
}

function NoPopulation() {
  return (
    <Empty title="There is no opponent yet">
      <p>
        A board needs a population:{" "}
        <a href={to(["populations", "new", "population"], { template: "connect_four" })}>
          make one that plays connect four
        </a>
        .
      </p>
    </Empty>
  );
}

/** Loads what the form needs to know of a population. */
function FormOfPopulation({ population, populations, cut }: Omit<Choosing, "env" | "choices">) {
  const body = useGet(
    "/v1/populations/{name}",
    { path: { name: population } },
    { everyMs: 0, population },
  );
  const ratings = useGet("/v1/ratings", { query: { population } }, { everyMs: 0, population });
  const snapshots = useGet(
    "/v1/populations/{name}/snapshots",
    { path: { name: population }, query: { limit: MOST_SNAPSHOTS } },
    { everyMs: 0, population },
  );
  return (
    <Shown query={body} what={population}>
      {(known) => (
        <Shown query={ratings} what="ratings">
          {(report) => (
            <Shown query={snapshots} what="snapshots">
              {(list) => {
                const choices = opponents(population, report, list);
                return (
                  <Form
                    population={population}
                    populations={populations}
                    cut={cut}
                    env={gameOf(known) ?? null}
                    choices={choices}
                  />
                );
              }}
            </Shown>
          )}
        </Shown>
      )}
    </Shown>
  );
}

interface Choosing {
  population: string;
  populations: readonly string[];
  /** There are more populations than these. */
  cut: boolean;
  env: string | null;
  choices: ReturnType<typeof opponents>;
}

function Form({ population, populations, cut, env, choices }: Choosing) {
  const [name, setName] = useState(localStorage.getItem(KEPT_NAME) ?? "");
  const { busy, problem, send } = useSending();
  const opponent = query.value.get("opponent") ?? choices[0]!.name;
  const seat = query.value.get("seat") === "1" ? 1 : 0;
  const start = () => {
    localStorage.setItem(KEPT_NAME, name);
    return begin({ opponent, env: /[/@]/.test(opponent) ? null : env, name, seat }, population);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send(start);
      }}
    >
      <label class="field">
        <span>Population</span>
        <select
          value={population}
          onChange={(event) =>
            setQuery({ population: event.currentTarget.value, opponent: undefined })
          }
        >
          {populations.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <small>
          plays {env}
          {cut && `; the first ${populations.length}, others by the address`}
        </small>
      </label>
      {!hasBoard(env) && (
        <p class="warning">
          {env ?? "Its game"} has no board to play at: choose a population of another game.
        </p>
      )}
      <label class="field">
        <span>Opponent</span>
        <select
          value={opponent}
          onChange={(event) => setQuery({ opponent: event.currentTarget.value })}
        >
          {choices.map((one) => (
            <option key={one.name} value={one.name}>
              {one.title}
            </option>
          ))}
          {choices.every((one) => one.name !== opponent) && (
            <option value={opponent}>{opponent}</option>
          )}
        </select>
      </label>
      <fieldset>
        <legend>Your seat</legend>
        {["first", "second"].map((title, number) => (
          <label key={title}>
            <input
              type="radio"
              name="seat"
              checked={seat === number}
              onChange={() => setQuery({ seat: number ? "1" : undefined })}
            />{" "}
            {title}
          </label>
        ))}
      </fieldset>
      <label class="field">
        <span>Your name</span>
        <input
          value={name}
          required
          maxLength={40}
          pattern="[A-Za-z0-9][A-Za-z0-9 ._\-]*"
          autocomplete="nickname"
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <small>letters, digits, spaces; the league rates you as a guest of this name</small>
      </label>
      {problem && <Failed problem={problem} />}
      <div class="buttons">
        <button class="primary" disabled={busy || !hasBoard(env)}>
          Sit down
        </button>
      </div>
    </form>
  );
}
