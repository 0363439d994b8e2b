/** `PopulationActions` are the buttons that start, pause, stop and delete a population. */
import { useState } from "preact/hooks";
import { change, type Schemas } from "../api/client";
import { session } from "../api/session";
import { Confirm } from "../ui/Confirm";
import { useSending } from "../ui/sending";

type State = Schemas["PopulationStatus"]["state"];

const ACTIONS = {
  start: { title: "Start", when: ["created", "stopped", "finished", "failed", "interrupted"] },
  resume: { title: "Resume", when: ["paused"] },
  pause: { title: "Pause", when: ["running", "starting", "recovering", "queued"] },
  stop: { title: "Stop", when: ["running", "starting", "recovering", "queued", "paused"] },
} as const satisfies Record<string, { title: string; when: readonly State[] }>;

type Action = keyof typeof ACTIONS;

export function PopulationActions({
  name,
  state,
  done,
}: {
  name: string;
  state: State;
  done: () => void;
}) {
  const [asking, setAsking] = useState(false);
  const { busy, problem, send } = useSending();
  const viewer = session.value !== "admin";
  const run = async (ask: () => Promise<unknown>) => {
    if (await send(ask)) done();
  };
  const fitting = (Object.keys(ACTIONS) as Action[]).filter((action) =>
    (ACTIONS[action].when as readonly State[]).includes(state),
  );
  if (viewer) return null;
  return (
    <div class="actions">
      {fitting.map((action) => (
        <button
          key={action}
          disabled={busy}
          aria-label={`${ACTIONS[action].title} ${name}`}
          onClick={() =>
            void run(() => change("post", `/v1/populations/{name}/${action}`, { path: { name } }))
          }
        >
          {ACTIONS[action].title}
        </button>
      ))}
      {state !== "deleting" && (
        <button
          class="quiet"
          disabled={busy}
          aria-label={`Delete ${name}`}
          onClick={() => setAsking(true)}
        >
          Delete
        </button>
      )}
      {problem && (
        <p class="wrong" role="alert">
          {problem.message}
        </p>
      )}
      {asking && (
        <Confirm
          title={`Delete ${name}`}
          close={() => setAsking(false)}
          act={() => void run(() => change("delete", "/v1/populations/{name}", { path: { name } }))}
        >
          <p>
            Its trainer stops, then its games, ratings, checkpoints, snapshots and logs go. Games of
            matches stay. This cannot be taken back.
          </p>
        </Confirm>
      )}
    </div>
  );
}
