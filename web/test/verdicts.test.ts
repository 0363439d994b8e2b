import { describe, expect, it } from "vitest";
import { steadyValue } from "../src/pages/SteadyValues";
import { ratioTicks } from "../src/ui/plot";
import { reasonText, rounded } from "../src/verdictText";

const MUTATED =
  "rank 15 of 32 at 514636 frames, win rate 0.499093 over 600 games, -0.000906811 on common " +
  "opponents: outside the top 10 and the bottom 10; mutates learning_rate 0.00189754 -> 0.00158128";
const COPIED =
  "rank 4 of 4 at 10 frames, win rate 0.1 over 103 games: copies m0 (win rate 0.9), ahead by " +
  "0.164972 on 9 common opponents";
const RETURNS =
  "rank 4 of 4 at 10 frames, return 12.3456 over 103 games: copies m0 (return 480.125), ahead by " +
  "467.779";

describe("reasons of rounds", () => {
  it("begin with the rank, and have three digits", () =>
    expect(reasonText(MUTATED)).toBe(
      "rank 15 of 32: outside the top 10 and the bottom 10; mutates learning_rate 0.0019 -> 0.00158",
    ));
  it("tell win rates in percent and leads in points", () =>
    expect(reasonText(COPIED)).toBe(
      "rank 4 of 4: copies m0 (win rate 90.0 %), ahead by 16.5 points on 9 common opponents",
    ));
  it("leave returns in their unit", () =>
    expect(reasonText(RETURNS)).toBe("rank 4 of 4: copies m0 (return 480), ahead by 468"));
  it("name partners where returns count", () =>
    expect(reasonText(`${RETURNS} on 3 common opponents`)).toBe(
      "rank 4 of 4: copies m0 (return 480), ahead by 468 on 3 common partners",
    ));
  it("stay whole without a rank", () =>
    expect(reasonText("too few games: 3 of 50")).toBe("too few games: 3 of 50"));
  it("leave names and whole numbers as they are", () =>
    expect(rounded("m3 resumed from checkpoint 00000003 at 2048 frames, +0.123456")).toBe(
      "m3 resumed from checkpoint 00000003 at 2048 frames, +0.123",
    ));
});

describe("values that never changed", () => {
  it("are one number that all have", () => expect(steadyValue([0.9, 0.9])).toBe(0.9));
  it.each([[[0.9, 0.8]], [[0.9, undefined]], [[]]])("are none in %j", (values) =>
    expect(steadyValue(values)).toBeNull(),
  );
});

describe("an axis by ratios", () => {
  it("has 1, 2 and 5 times powers of ten", () =>
    expect(ratioTicks([0.2, 0.3, 0.5, 1, null, 2], String)).toEqual([
      "0.2",
      "",
      "0.5",
      "1",
      "",
      "2",
    ]));
  it("has powers of ten alone where it is long", () =>
    expect(ratioTicks([0.01, 0.02, 10, 50], String)).toEqual(["0.01", "", "10", ""]));
});
