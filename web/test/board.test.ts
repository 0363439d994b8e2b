import { beforeAll, describe, expect, it, vi } from "vitest";
import {
  beside,
  changed,
  type Choice,
  choiceName,
  drops,
  type Grid,
  hasBoard,
  marks,
  outcome,
  squareName,
  winningLine,
} from "../src/board";

const FOUR: Grid = [6, 7];
const THREE: Grid = [3, 3];
const EMPTY = `${Array(6).fill(". . . . . . .").join("\n")}\n0 1 2 3 4 5 6`;
const BEGUN = EMPTY.replace(/\. \. \. \. \. \. \.\n0/, ". . . X . . .\n0");

beforeAll(() => {
  vi.stubGlobal("location", new URL("http://service/app/play"));
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
});

describe("a position", () => {
  it("is read square by square, without what stands below the board", () => {
    expect(marks(BEGUN, FOUR)).toHaveLength(6);
    expect(marks(BEGUN, FOUR)[5]).toEqual([".", ".", ".", "X", ".", ".", "."]);
  });
  it("differs from the one before where a piece moved", () => {
    expect(changed(EMPTY, BEGUN, FOUR)).toEqual([[5, 3]]);
    expect([changed(BEGUN, BEGUN, FOUR), changed(null, BEGUN, FOUR)]).toEqual([[], []]);
    // A piece that goes from one square to another.
    expect(changed("X . .\n. . .\n. . .", ". X .\n. . .\n. . .", THREE)).toEqual([
      [0, 0],
      [0, 1],
    ]);
  });
});

describe("a line", () => {
  it("is found in every direction when it is long enough", () => {
    const found = (position: string) => winningLine(position, THREE, 3);
    expect(found("X X X\nO O .\n. . .")).toEqual([
      [0, 0],
      [0, 2],
    ]);
    expect(found("X O .\nX O .\n. O X")).toEqual([
      [0, 1],
      [2, 1],
    ]);
    expect(found("X O .\nO X .\n. O X")).toEqual([
      [0, 0],
      [2, 2],
    ]);
    expect(found("X O O\nX O .\nO X X")).toEqual([
      [0, 2],
      [2, 0],
    ]);
    expect([found("X X O\nO O X\nX X O"), found(". . .\n. . .\n. . .")]).toEqual([null, null]);
    expect([winningLine("X X X\nO O .\n. . .", THREE, null), winningLine(BEGUN, FOUR, 4)]).toEqual([
      null,
      null,
    ]);
  });
});

describe("choices", () => {
  const square = (action: number): Choice => ({
    action,
    name: null,
    square: [action % 3, Math.floor(action / 3)],
  });
  const column = (action: number): Choice => ({ action, name: null, square: [null, action] });
  it("are named by letter and number, or in the game's own words", () => {
    expect([
      squareName([null, 3], FOUR),
      squareName([0, 0], THREE),
      squareName([2, 1], THREE),
    ]).toEqual(["d", "a3", "b1"]);
    expect([
      choiceName(column(6), FOUR),
      choiceName({ action: 4, name: "x(1,1)", square: null }, null),
    ]).toEqual(["g", "x(1,1)"]);
    expect(choiceName({ action: [1, 2], name: null, square: null }, null)).toBe("1 2");
    expect([drops([column(0)]), drops([square(0)]), drops([])]).toEqual([true, false, false]);
  });
  it("are gone through by arrow keys, over what is taken", () => {
    const columns = [0, 2, 6].map(column);
    expect([
      beside(columns, columns[0], "ArrowRight"),
      beside(columns, columns[1], "ArrowRight"),
      beside(columns, columns[2], "ArrowRight"),
    ]).toEqual([columns[1], columns[2], columns[2]]);
    expect([
      beside(columns, columns[1], "ArrowLeft"),
      beside(columns, undefined, "ArrowUp"),
      beside(columns, columns[0], "x"),
    ]).toEqual([columns[0], columns[0], undefined]);
    const squares = [0, 4, 6, 8].map(square); // a3, b2, c3, c1
    expect([
      beside(squares, squares[0], "ArrowRight"),
      beside(squares, squares[0], "ArrowDown"),
      beside(squares, squares[3], "ArrowUp"),
    ]).toEqual([squares[2], squares[1], squares[2]]);
    const named: Choice[] = [7, 8].map((action) => ({
      action,
      name: String(action),
      square: null,
    }));
    expect([beside(named, named[0], "ArrowRight"), beside(named, named[1], "ArrowDown")]).toEqual([
      named[1],
      named[1],
    ]);
  });
});

describe("a game", () => {
  it("is won, lost or drawn for a seat", () => {
    expect([outcome([0, 1], 0), outcome([0, 1], 1), outcome([0, 0], 1)]).toEqual([
      "won",
      "lost",
      "drawn",
    ]);
  });
  it("goes on from the answer that knows more of it", async () => {
    const { newer } = await import("../src/pages/Play");
    const play = (made: number, result: object | null = null, message = "") =>
      ({ moves: Array(made).fill({}), result, message }) as unknown as Parameters<typeof newer>[0];
    const [asked, answered] = [play(2), play(4)];
    expect([
      newer(asked, undefined),
      newer(asked, answered),
      newer(play(6), answered).moves.length,
    ]).toEqual([asked, answered, 6]);
    const over = play(4, { places: [0, 1] });
    expect([newer(play(4), over), newer(over, play(4))]).toEqual([over, over]);
    const dropped = play(2, null, "left");
    expect(newer(asked, dropped)).toBe(dropped);
  });
  it("says what the opponent played, for people who do not see it", async () => {
    const { answerOf } = await import("../src/pages/Play");
    const move = (seat: number, column: number) => ({
      action: column,
      name: null,
      square: [null, column],
      seat,
      board: null,
    });
    const play = {
      moves: [move(0, 3), move(1, 0)],
      seat: 0,
      seats: [{ player: "Ada" }, { player: "random" }],
      grid: [6, 7],
    } as unknown as Parameters<typeof answerOf>[0];
    expect([0, 1, 2].map((shown) => answerOf(play, shown))).toEqual(["", "", "random played a."]);
  });
  it("is offered where there is a board", () => {
    expect(
      [
        "connect_four",
        "tictactoe",
        "openspiel:othello",
        "doom_duel",
        "openspielish",
        undefined,
      ].map(hasBoard),
    ).toEqual([true, true, true, false, false, false]);
  });
  it("has the result of the player with the first place", async () => {
    const { result } = await import("../src/pages/Replay");
    const seat = (place: number, returns = 0) => ({ place, returns });
    const won = { objective: "win" } as const;
    expect(result({ ...won, labels: ["a", "b"], seats: [seat(1), seat(0)] })).toBe("b won");
    expect(result({ ...won, labels: ["a", "b"], seats: [seat(0), seat(0)] })).toBe("drawn");
    const gained = { objective: "return" } as const;
    expect(result({ ...gained, labels: ["a"], seats: [seat(0, 12.5)] })).toBe("return 12.5");
    const shared = [seat(0, -3), seat(0, -3)];
    expect(result({ ...gained, labels: ["a", "b"], seats: shared })).toBe("return −3 each");
  });
});

describe("opponents", () => {
  it("are the best, then those with weights by strength, then those that need none", async () => {
    const { chooseAgain } = await import("../src/pages/SitDown");
    const { opponents } = await import("../src/pages/opponents");
    const row = (id: string, player: string, kind: string, elo: number | null) =>
      ({ id, player, kind, elo, low: elo, high: elo }) as never;
    const report = (...players: never[]) => ({ objective: "win", players }) as never;
    const snapshot = (id: string, member: string, frames: number, has_weights = true) => ({
      id,
      member,
      role: "player",
      frames,
      has_weights,
      superseded: false,
    });
    const found = opponents(
      "first",
      report(
        row("b", "first/m1@2k", "snapshot", 120.4),
        row("oneply", "oneply", "scripted", 80),
        row("a", "first/m0@1k", "snapshot", null),
      ),
      {
        items: [
          snapshot("a", "m0", 1000),
          snapshot("b", "m1", 2000),
          snapshot("c", "m0", 3000),
          snapshot("d", "m1", 9000, false),
        ],
      } as never,
    );
    expect(found.map((one) => one.name)).toEqual([
      "first@best",
      "first/m1@2k",
      "first/m0@1k",
      "first/m0@3k",
      "random",
      "oneply",
    ]);
    expect(found.slice(1, 4).map((one) => one.title)).toEqual([
      "m1 at 2k frames, Elo +120",
      "m0 at 1k frames",
      "m0 at 3k frames",
    ]);
    const two = [snapshot("a", "m0", 1000), { ...snapshot("b", "m1", 1000), role: "prey" }];
    const names = opponents("tag", report(), { items: two } as never).map((one) => one.name);
    expect(names.slice(0, 2)).toEqual(["tag/player@best", "tag/prey@best"]);
    expect(opponents("first", report(), undefined).map((one) => one.name)).toEqual(["random"]);
    expect([
      chooseAgain({ opponent: "first/m0@1k", seat: 1 }),
      chooseAgain({ opponent: "random", seat: 0 }),
    ]).toEqual([
      "/app/play?population=first&opponent=first%2Fm0%401k&seat=1",
      "/app/play?opponent=random&seat=0",
    ]);
  });
});
