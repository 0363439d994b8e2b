/** One metric of any populations, overlaid over frames. */
import { useGet, SELDOM_MS } from "../query";
import { query, setQuery, to } from "../router";
import { Chart, type Line } from "../ui/Chart";
import { Empty, Figure, Shown } from "../ui/parts";
import { keysOf, linesOf, POINT_COLUMNS, pointsOf } from "./Curves";
import { useEffect, useState } from "preact/hooks";
import type { Got } from "../api/client";

const POINTS = 400;
const METRIC = "win_rate";

export function Compare() {
  const populations = useGet("/v1/populations", { query: { limit: 500 } });
  return (
    <>
      <h1>Compare</h1>
      <Shown query={populations} what="populations">
        {(list) => {
          const names = list.items.map((one) => one.id);
          if (names.length === 0) {
            return (
              <Empty title="Nothing to compare yet">
                <p>
                  <a href={to(["populations"])}>Populations</a> come first.
                </p>
              </Empty>
            );
          }
          const asked = query.value.getAll("population");
          const chosen = asked.length ? asked : names.slice(0, 2);
          const flip = (name: string) => setQuery({ population: chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name] });
          return (
            <>
              <div class="chips" role="group" aria-label="Populations">
                {[...new Set([...names, ...chosen])].map((name) => (
                  <button key={name} aria-pressed={chosen.includes(name)} onClick={() => flip(name)}>
                    {name}
                  </button>
                ))}
              </div>
              <Overlay names={chosen} />
            </>
          );
        }}
      </Shown>
    </>
  );
}

type Found = Got<"/v1/populations/{name}/metrics">;

function Overlay({ names }: { names: readonly string[] }) {
  const [found, setFound] = useState<ReadonlyMap<string, Found>>(new Map());
  const metric = query.value.get("metric") ?? METRIC;
  const here = names.flatMap((name) => (found.has(name) ? [[name, found.get(name)!] as const] : []));
  const keys = [...new Set([...here.flatMap(([, curves]) => keysOf(curves)), metric])].sort();
  const lines: Line[] = [];
  for (const [name, curves] of here) lines.push(...linesOf(curves, metric, `${name}/`, lines.length));
  return (
    <>
      {names.map((name) => (
        <Fetch key={name} name={name} got={(curves) => setFound((old) => (old.get(name) === curves ? old : new Map([...old, [name, curves]])))} />
      ))}
      <div class="choices">
        <label>
          Metric
          <select value={metric} onChange={(event) => setQuery({ metric: event.currentTarget.value })}>
            {keys.map((key) => (
              <option key={key}>{key}</option>
            ))}
          </select>
        </label>
      </div>
      {lines.length ? (
        <Figure title={`${metric} over frames`} columns={POINT_COLUMNS} rows={pointsOf(lines)}>
          <Chart label={`${metric} over frames`} lines={lines} height={360} />
        </Figure>
      ) : (
        here.length === names.length && (
          <Empty title={`Nobody has ${metric}`}>
            <p>Choose another metric, or a population that has trained.</p>
          </Empty>
        )
      )}
    </>
  );
}

/** Gives what it reads to the one who draws; shows only what went wrong. */
function Fetch({ name, got }: { name: string; got: (curves: Found) => void }) {
  const found = useGet("/v1/populations/{name}/metrics", { path: { name }, query: { points: POINTS } }, { everyMs: SELDOM_MS, population: name });
  useEffect(() => {
    if (found.value) got(found.value);
  }, [found.value]);
  return found.value ? null : <Shown query={found} what={`curves of ${name}`}>{() => null}</Shown>;
}
