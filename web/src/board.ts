/** This file reads, names and compares positions of board games. All of it is pure. */

/** The size of a board in squares. */
export type Grid = readonly [rows: number, columns: number];
/** A square of a board. With a row of null, a piece falls in that column as far as it can. */
export type Square = readonly [row: number | null, column: number];
/** A move that can be made now. */
export interface Choice {
  action: number;
  name: string | null;
  square: Square | null;
}

/**
 * Tells by its name whether a game can be played by hand. Of the games of OpenSpiel only some can:
 * the service refuses the others.
 */
export function hasBoard(env: string | null | undefined): boolean {
  return env === "connect_four" || env === "tictactoe" || Boolean(env?.startsWith("openspiel:"));
}

/** Returns the marks on the squares, row by row; "." is an empty square. */
export function marks(position: string, [rows, columns]: Grid): string[][] {
  const lines = position.split("\n").slice(0, rows);
  return lines.map((line) => line.trim().split(/\s+/).slice(0, columns));
}

/** Returns the squares that a move changed: where it went, and where it came from. */
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

/** Returns the first and the last square of a line of `long` equal marks, or null. */
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

/**
 * Returns the name of a square. Columns have letters, rows are counted from below: "d", or "b2".
 */
export function squareName([row, column]: Square, [rows]: Grid): string {
  return String.fromCharCode(97 + column) + (row === null ? "" : String(rows - row));
}

/** Returns the name of a move: its square, the name in the game's own words, or the bare action. */
export function choiceName(
  { action, name, square }: { action: unknown; name: string | null; square: Square | null },
  grid: Grid | null,
): string {
  if (square && grid) return squareName(square, grid);
  return name ?? (Array.isArray(action) ? action.join(" ") : String(action));
}

/** Tells whether pieces fall, so that actions name columns. */
export function drops(choices: readonly { square: Square | null }[]): boolean {
  return choices.some(({ square }) => square !== null && square[0] === null);
}

const STEPS: Record<string, Square> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/**
 * Returns the choice that an arrow key leads to from another one: the nearest in that direction,
 * first in the same line. Of choices without a square it is the next.
 */
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

/** Returns the result of a game for one seat. A place of 0 is the best. */
export function outcome(places: readonly number[], seat: number): "won" | "lost" | "drawn" {
  const best = places.filter((place) => place === 0).length;
  if (best === places.length) return "drawn";
  return places[seat] === 0 ? "won" : "lost";
}
