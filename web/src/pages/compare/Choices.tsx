/** `Choices` are the controls above the chart of `Compare`. The address holds what they say. */
import { query, setQuery } from "../../address";
import { capital } from "../../format";
import { withUnit } from "../../metrics";
import { BY, type By } from "../../series";
import { MANY_LINES } from "../../ui/summary";
import { AGAINST, type Opponent, OVER, type Over, STRENGTH } from "./measures";

const OVER_TEXTS: Record<Over, string> = {
  frames: "frames",
  time: "time of training",
  games: "games",
};
const BY_TEXTS: Record<By, string> = {
  members: "members",
  populations: "populations",
  groups: "groups of runs",
};
/** Shares of the axis, in percent, over which values are averaged. */
const SHARES = ["2", "5", "10", "20"];

function oneOf<T extends string>(all: readonly T[], name: string, otherwise: T): T {
  const asked = query.value.get(name);
  return all.find((one) => one === asked) ?? otherwise;
}

export const chosenOver = (): Over => oneOf(OVER, "x", "frames");
/** members: how many there are; of many a line each would be too many */
export const chosenBy = (members: number): By =>
  oneOf(BY, "lines", members > MANY_LINES ? "populations" : "members");
export const chosenShare = (): number => Number(oneOf(["0", ...SHARES], "smooth", "0")) / 100;

export function Choices({
  metric,
  keys,
  against,
  by,
  opponents,
  other,
}: {
  metric: string;
  keys: readonly string[];
  against: string;
  by: By;
  opponents: readonly Opponent[];
  /** What they are to a member. */
  other: string;
}) {
  const curve = metric !== STRENGTH && metric !== AGAINST;
  const curves = [...new Set([...keys, ...(curve ? [metric] : [])])].sort();
  const named = opponents.some(({ name }) => name === against)
    ? opponents
    : [...opponents, { name: against, title: against }];
  return (
    <div class="choices">
      <label>
        Metric
        <select
          value={metric}
          onChange={(event) => setQuery({ metric: event.currentTarget.value })}
        >
          <optgroup label="Strength">
            <option value={STRENGTH}>rating or return</option>
            <option value={AGAINST}>
              {other === "partner" ? "return beside a partner" : "score against an opponent"}
            </option>
          </optgroup>
          <optgroup label="Training curves">
            {curves.map((key) => (
              <option key={key} value={key}>
                {withUnit(key)}
              </option>
            ))}
          </optgroup>
        </select>
      </label>
      {metric === AGAINST && (
        <label>
          {capital(other)}
          <select
            value={against}
            onChange={(event) => setQuery({ against: event.currentTarget.value })}
          >
            {named.map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
      )}
      <Choice title="Over" name="x" now={chosenOver()} texts={OVER_TEXTS} />
      <Choice title="Lines" name="lines" now={by} texts={BY_TEXTS} />
      <Choice
        title="Smoothing"
        name="smooth"
        now={String(100 * chosenShare())}
        texts={{ "0": "none", ...Object.fromEntries(SHARES.map((one) => [one, `${one} %`])) }}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={query.value.get("log") === "1"}
          onChange={(event) => setQuery({ log: event.currentTarget.checked })}
        />{" "}
        logarithmic
      </label>
    </div>
  );
}

function Choice({
  title,
  name,
  now,
  texts,
}: {
  title: string;
  name: string;
  now: string;
  texts: Readonly<Record<string, string>>;
}) {
  return (
    <label>
      {title}
      <select value={now} onChange={({ currentTarget: { value } }) => setQuery({ [name]: value })}>
        {Object.entries(texts).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
