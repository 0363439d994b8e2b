/**
 * `Spark` is a small line without axes: how a number went. Its first and last value are spoken.
 * Without two places on the axis there is no line.
 */
const [WIDTH, HEIGHT, EDGE] = [96, 24, 3];

export function Spark({
  points,
  format,
  label,
  colour = 0,
}: {
  points: readonly (readonly [x: number, y: number])[];
  format: (value: number) => string;
  label: string;
  colour?: number;
}) {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last || first[0] === last[0]) return null;
  const [x, y] = [scale(points, 0, EDGE, WIDTH - EDGE), scale(points, 1, HEIGHT - EDGE, EDGE)];
  const path = points.map((one) => `${x(one[0])} ${y(one[1])}`).join("L");
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`${label}: from ${format(first[1])} to ${format(last[1])}`}
    >
      <path class={`stroke-${colour % 8}`} d={`M${path}`} />
      <circle class={`stroke-${colour % 8}`} cx={x(last[0])} cy={y(last[1])} r="2" />
    </svg>
  );
}

/** Returns a function from one coordinate of the points to a place between two ends. */
function scale(
  points: readonly (readonly [number, number])[],
  of: 0 | 1,
  from: number,
  to: number,
): (value: number) => number {
  const values = points.map((one) => one[of]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return (value) => {
    const share = most === least ? 0.5 : (value - least) / (most - least);
    return Number((from + (to - from) * share).toFixed(1));
  };
}
