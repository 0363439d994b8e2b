/**
 * `NewMatch` is the form for a match between any two players of a population, whether or not they
 * have met.
 */
import { useState } from "preact/hooks";
import { gameOf } from "../api/reports";
import { MOST_SNAPSHOTS, useGet } from "../api/useGet";
import { query, setQuery } from "../address";
import { Shown } from "../ui/state";
import { opponents } from "./opponents";
import { MatchForm } from "./MatchForm";

export function NewMatch() {
  const found = useGet("/v1/populations", { query: { limit: 500 } }, { everyMs: 0 });
  return (
    <Shown query={found} what="populations">
      {({ items, next }) => {
        const names = items.map((one) => one.id);
        const chosen = query.value.get("population") ?? names[0];
        return chosen === undefined ? (
          <p class="note">A match needs a population.</p>
        ) : (
          <>
            <label class="field">
              <span>Population</span>
              <select
                value={chosen}
                onChange={(event) => setQuery({ population: event.currentTarget.value })}
              >
                {[...new Set([...names, chosen])].map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
              {next && <small>the first {names.length}; others by the address</small>}
            </label>
            <PlayerChoices key={chosen} population={chosen} />
          </>
        );
      }}
    </Shown>
  );
}

const SIDES = ["First player", "Second player"] as const;

function PlayerChoices({ population }: { population: string }) {
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
  const [asked, setAsked] = useState<readonly [string | undefined, string | undefined]>([
    undefined,
    undefined,
  ]);
  const env = gameOf(body.value);
  return (
    <Shown query={ratings} what="ratings">
      {(report) => (
        <Shown query={snapshots} what="snapshots">
          {(list) => {
            const choices = opponents(population, report, list);
            const players = [asked[0] ?? choices[0]!.name, asked[1] ?? choices.at(-1)!.name];
            return (
              <>
                {SIDES.map((title, side) => (
                  <label key={title} class="field">
                    <span>{title}</span>
                    <select
                      value={players[side]!}
                      onChange={({ currentTarget: { value } }) =>
                        setAsked((old) => (side ? [old[0], value] : [value, old[1]]))
                      }
                    >
                      {choices.map((one) => (
                        <option key={one.name} value={one.name}>
                          {one.title}
                        </option>
                      ))}
                    </select>
                  </label>
                ))}
                <MatchForm
                  players={players}
                  env={players.some((name) => /[/@]/.test(name)) ? undefined : env}
                />
              </>
            );
          }}
        </Shown>
      )}
    </Shown>
  );
}
