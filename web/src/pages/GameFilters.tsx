/**
 * `GameFilters` are the controls above a list of games: which players, result and length. The
 * address holds them.
 */
import type { Place } from "../api/client";
import type { Objective } from "../api/reports";
import { query, setQuery } from "../address";
import { capital } from "../format";
import { valued } from "../pairs";

/** A player that games can be of, and what it is called. */
export interface Choosable {
  name: string;
  title: string;
}

const NAMES = ["player", "opponent", "result", "shortest", "longest"] as const;

/** Returns what the address asks of games, as parameters of the service. */
export function askedGames(): NonNullable<Place["query"]> {
  return Object.fromEntries(NAMES.map((name) => [name, query.value.get(name) ?? undefined]));
}

export function gamesAreFiltered(): boolean {
  return NAMES.some((name) => query.value.has(name));
}

/** Changes what is asked for, and goes back to the first page. */
function ask(changed: Partial<Record<(typeof NAMES)[number], string | undefined>>): void {
  setQuery({ ...changed, before: undefined });
}

/** opponents: none where a game has no others, or partners where returns count */
export function GameFilters({
  players,
  opponents,
  objective,
}: {
  players: readonly Choosable[];
  opponents: readonly Choosable[];
  objective: Objective;
}) {
  const player = query.value.get("player") ?? "";
  const results: readonly Choosable[] = player
    ? [
        { name: "won", title: "won" },
        { name: "drawn", title: "drawn" },
        { name: "lost", title: "lost" },
      ]
    : [
        { name: "won", title: "decided" },
        { name: "drawn", title: "drawn" },
      ];
  return (
    <div class="choices" role="group" aria-label="Which games">
      <Chosen title="Player" name="player" of={players} />
      {opponents.length > 0 && (
        <Chosen
          title={capital(valued(objective).other)}
          name="opponent"
          of={opponents.filter(({ name }) => name !== player)}
        />
      )}
      {objective !== "return" && (
        <Chosen title={player ? "Result of the player" : "Result"} name="result" of={results} />
      )}
      <Length title="Decisions, at least" name="shortest" />
      <Length title="Decisions, at most" name="longest" />
      {gamesAreFiltered() && (
        <button
          class="quiet"
          onClick={() => ask(Object.fromEntries(NAMES.map((name) => [name, undefined])))}
        >
          All games
        </button>
      )}
    </div>
  );
}

function Chosen({
  title,
  name,
  of,
}: {
  title: string;
  name: (typeof NAMES)[number];
  of: readonly Choosable[];
}) {
  const now = query.value.get(name) ?? "";
  const known = now === "" || of.some((one) => one.name === now);
  return (
    <label>
      {title}
      <select
        value={now}
        onChange={({ currentTarget: { value } }) => ask({ [name]: value || undefined })}
      >
        <option value="">any</option>
        {(known ? of : [...of, { name: now, title: now }]).map((one) => (
          <option key={one.name} value={one.name}>
            {one.title}
          </option>
        ))}
      </select>
    </label>
  );
}

function Length({ title, name }: { title: string; name: "shortest" | "longest" }) {
  const asked = (text: string) => (/^\d{1,9}$/.test(text) ? text : undefined);
  return (
    <label>
      {title}
      <input
        type="number"
        min="0"
        value={query.value.get(name) ?? ""}
        onChange={({ currentTarget: { value } }) => ask({ [name]: asked(value) })}
      />
    </label>
  );
}
