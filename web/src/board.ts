/** Positions of board games: read from their text, named, compared. Pure. */

export type Grid = readonly [rows: number, columns: number];
/** row null: somewhere in that column. */
export type Square = readonly [row: number | null, column: number];
export interface Choice {
  action: number;
  name: string | null;
  square: Square | null;
}

/** Whether a game can be played by hand, as far as its name tells: of OpenSpiel some can, and the service says which cannot. */
export function hasBoard(env: string | null | undefined): boolean {
  return env === "connect_four" || env === "tictactoe" || Boolean(env?.startsWith("openspiel:"));
}

/** The marks on the squares, row by row; "." is an empty one. */
export function marks(position: string, [rows, columns]: Grid): string[][] {
  const lines = position.split("\n").slice(0, rows);
  return lines.map((line) => line.trim().split(/\s+/).slice(0, columns));
}

/** Squares that are not as they were: where the last move went, and where it came from. */
export function changed(
  before: string | null | undefined,
  after: string,
  grid: Grid,
): [row: number, column: number][] {
  if (before === null || before === undefined) return [];
  const old = marks(before, grid);
  return marks(after, grid).flatMap((line, row) =>
    line.flatMap((mark, column): [number, number][] =>
      mark === old[row]?.[column] ? [] : [[row, column]],
    ),
  );
}

/** First and last square of a line of equal marks that is long enough, if there is one. */
export function winningLine(
  position: string,
  grid: Grid,
  long: number | null,
): readonly [[number, number], [number, number]] | null {
  if (long === null) return null;
  const board = marks(position, grid);
  for (const [row, line] of board.entries()) {
    for (const [column, mark] of line.entries()) {
      for (const [down, right] of [
        [0, 1],
        [1, 0],
        [1, 1],
        [1, -1],
      ] as const) {
        let steps = 0;
        while (
          mark !== "." &&
          board[row + down * (steps + 1)]?.[column + right * (steps + 1)] === mark
        )
          steps += 1;
        if (steps + 1 >= long)
          return [
            [row, column],
            [row + down * steps, column + right * steps],
          ];
      }
    }
  }
  return null;
}

/** Columns have letters, rows are counted from below: "d", or "b2". */
export function squareName([row, column]: Square, [rows]: Grid): string {
  return String.fromCharCode(97 + column) + (row === null ? "" : String(rows - row));
}

export function choiceName(
  { action, name, square }: { action: unknown; name: string | null; square: Square | null },
  grid: Grid | null,
): string {
  if (square && grid) return squareName(square, grid);
  return name ?? (Array.isArray(action) ? action.join(" ") : String(action));
}

/** Pieces fall: actions name columns. */
export function drops(choices: readonly { square: Square | null }[]): boolean {
  return choices.some(({ square }) => square !== null && square[0] === null);
}

const STEPS: Record<string, Square> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** The choice to go to from another one with an arrow key: the nearest in that direction, first in the same line. Of those without a place, the next. */
export function beside(
  choices: readonly Choice[],
  at: Choice | undefined,
  key: string,
): Choice | undefined {
  const step = STEPS[key];
  if (!step) return undefined;
  if (!at) return choices[0];
  const from = at.square;
  if (!from) return choices[choices.indexOf(at) + step[1] + step[0]!] ?? at;
  const [down, right] = [step[0]!, step[1]];
  const distances = choices.flatMap((choice) => {
    if (!choice.square) return [];
    const [rows, columns] = [(choice.square[0] ?? 0) - (from[0] ?? 0), choice.square[1] - from[1]];
    const [along, aside] = down
      ? [rows * down, Math.abs(columns)]
      : [columns * right, Math.abs(rows)];
    return along > 0 ? [{ choice, far: along + 100 * aside }] : [];
  });
  return distances.sort((a, b) => a.far - b.far)[0]?.choice ?? at;
}

/** What came of a game for one seat. places: 0 is best. */
export function outcome(places: readonly number[], seat: number): "won" | "lost" | "drawn" {
  const best = places.filter((place) => place === 0).length;
  if (best === places.length) return "drawn";
  return places[seat] === 0 ? "won" : "lost";
}
