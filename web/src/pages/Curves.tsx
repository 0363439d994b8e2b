/** Training curves: choose some, each is a chart of all members. */
import { decimal } from "../format";
import { useGet } from "../query";
import { query, setQuery } from "../router";
import { Chart, type Line } from "../ui/Chart";
import { type Column, Empty, Figure, Shown } from "../ui/parts";
import type { Got } from "../api/client";

type Found = Got<"/v1/populations/{name}/metrics">;

const FIRST = ["win_rate", "return", "entropy", "frames_per_s", "lag_mean", "kl"];
const POINTS = 400;

interface Point {
  member: string;
  frames: number;
  value: number | null;
}

export const POINT_COLUMNS: readonly Column<Point>[] = [
  { name: "member", value: (row) => row.member },
  { name: "frames", value: (row) => row.frames, numeric: true },
  { name: "value", value: (row) => row.value, show: (row) => (row.value === null ? "– (not finite)" : decimal(row.value)), numeric: true },
];

export function Curves({ name, everyMs }: { name: string; everyMs: number }) {
  const found = useGet("/v1/populations/{name}/metrics", { path: { name }, query: { points: POINTS } }, { everyMs, population: name });
  return (
    <Shown query={found} what="curves">
      {(curves) => {
        const keys = keysOf(curves);
        if (keys.length === 0) {
          return (
            <Empty title="No curves yet">
              <p>Members write a point with every update.</p>
            </Empty>
          );
        }
        const asked = query.value.getAll("key");
        const chosen = asked.length ? asked : FIRST.filter((key) => keys.includes(key));
        const flip = (key: string) => setQuery({ key: chosen.includes(key) ? chosen.filter((one) => one !== key) : [...chosen, key] });
        return (
          <>
            <div class="chips" role="group" aria-label="Curves">
              {keys.map((key) => (
                <button key={key} aria-pressed={chosen.includes(key)} onClick={() => flip(key)}>
                  {key}
                </button>
              ))}
            </div>
            <div class="figures">
              {chosen.map((key) => {
                const lines = linesOf(curves, key);
                return (
                  <Figure key={key} title={key} columns={POINT_COLUMNS} rows={pointsOf(lines)}>
                    <Chart label={key} lines={lines} height={180} />
                  </Figure>
                );
              })}
            </div>
          </>
        );
      }}
    </Shown>
  );
}

export function keysOf(curves: Found): string[] {
  return [...new Set(Object.values(curves.members).flatMap(Object.keys))].sort();
}

/** One line per member, in the order of their names. prefix: of the lines' names. */
export function linesOf(curves: Found, key: string, prefix = "", firstColour = 0): Line[] {
  const members = Object.keys(curves.members).sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  return members.flatMap((member, index) => {
    const curve = curves.members[member]![key];
    return curve ? [{ name: prefix + member, colour: firstColour + index, x: curve.frames, y: curve.values }] : [];
  });
}

export function pointsOf(lines: readonly Line[]): Point[] {
  return lines.flatMap((line) => line.x.map((frames, index) => ({ member: line.name, frames, value: line.y[index] ?? null })));
}
