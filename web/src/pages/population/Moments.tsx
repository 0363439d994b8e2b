/** These fields choose a moment of a training, and which snapshots stand for a member there. */
import { query, setQuery } from "../../address";
import { count } from "../../format";

const STEPS = 100;
const CHOICES = [
  ["1", "the newest snapshot"],
  ["3", "the newest 3"],
  ["10", "the newest 10"],
  ["0", "all snapshots"],
] as const;

/** Returns how many newest snapshots stand for a member, by the address; 0 is all. */
export function recentOf(): number {
  const asked = query.value.get("recent");
  return asked !== null && /^\d{1,3}$/.test(asked) ? Number(asked) : 1;
}

export function Recent() {
  return (
    <label>
      A member is
      <select
        value={String(recentOf())}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          setQuery({ recent: chosen === "1" ? undefined : chosen });
        }}
      >
        {CHOICES.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Chooses a number of frames up to the newest. text: what is chosen, in words */
export function Frames({
  title,
  value,
  newest,
  change,
  text = count(value),
}: {
  title: string;
  value: number;
  newest: number;
  change: (frames: number) => void;
  text?: string;
}) {
  const step = Math.max(1, Math.round(newest / STEPS));
  return (
    <label class="frames">
      {title}: {text}
      <input
        type="range"
        min={0}
        // The last step reaches the newest frames, however the steps fall.
        max={Math.ceil(newest / step) * step}
        step={step}
        value={value}
        disabled={newest === 0}
        aria-valuetext={text}
        onChange={(event) => change(Math.min(newest, event.currentTarget.valueAsNumber))}
      />
    </label>
  );
}
