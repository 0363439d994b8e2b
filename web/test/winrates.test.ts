import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Changed, Met } from "../src/pairs";
import type { MemberRates } from "../src/rates";

/** The modules ask this of a browser when they are loaded. */
beforeAll(() => {
  vi.stubGlobal("location", new URL("http://service/app/populations/first"));
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
});

const RATE = { games: 4, wins: 3, draws: 0, losses: 1, value: 0.75, low: 0.3, high: 0.95 };
const MET: Met = { ...RATE, player: "m0", opponent: "m1" };

describe("pairs", () => {
  it("are known from both sides, returns only as they were told", async () => {
    const { bothSides } = await import("../src/pairs");
    const found = bothSides("win", [MET]);
    expect(found.get("m1 m0")).toMatchObject({ wins: 1, losses: 3, value: 0.25, games: 4 });
    expect(found.get("m1 m0")!.low).toBeCloseTo(0.05);
    expect(found.get("m1 m0")!.high).toBeCloseTo(0.7);
    expect([...bothSides("return", [MET]).keys()]).toEqual(["m0 m1"]);
  });
  it("have colours between the ends of their scale", async () => {
    const { scaleOf, shade, squareOf, legendOf } = await import("../src/pairs");
    expect(scaleOf("win", [0.4, 0.6])).toEqual([0, 1]);
    expect(scaleOf("margin", [-0.5, 2])).toEqual([-2, 2]);
    expect(scaleOf("margin", [])).toEqual([-1, 1]);
    expect(scaleOf("return", [-110, -90])).toEqual([-110, -90]);
    expect(scaleOf("return", [5, 5])).toEqual([4, 6]);
    expect([shade(0, [-2, 2]), shade(9, [-2, 2])]).toEqual([0.5, 1]);
    expect(squareOf("win", MET, [0, 1])).toEqual({ shade: 0.75, games: 4, text: "75" });
    expect(squareOf("margin", { ...MET, value: -1.274 }, [-2, 2]).text).toBe("−1.3");
    expect(legendOf("win", [0, 1])).toMatchObject({ low: "0 %", middle: "50 %", high: "100 %" });
  });
  it("are told in words, in their own unit", async () => {
    const { metText } = await import("../src/pairs");
    expect(metText("win", "m0", "m1", MET)).toBe(
      "m0 against m1: 75.0 % [30.0 %, 95.0 %], 4 games, 3 won, 0 drawn, 1 lost",
    );
    const returned = { ...MET, wins: null, draws: null, losses: null, value: -104.2 };
    expect(metText("return", "m0", "m1", { ...returned, low: null, high: null, games: 1 })).toBe(
      "m0 beside m1: −104.2, 1 game",
    );
    expect(metText("win", "m0", "m0", undefined)).toContain("does not play against itself");
  });
  it("change for both sides", async () => {
    const { bothChanged, changeText } = await import("../src/pairs");
    const before = { ...RATE, value: 0.4 };
    const one: Changed = {
      ...{ player: "m0", opponent: "m1", before, after: RATE },
      ...{ difference: 0.35, low: 0.1, high: 0.55, sure: true },
    };
    const back = bothChanged("win", [one]).get("m1 m0")!;
    expect([back.difference, back.low, back.high, back.sure]).toEqual([-0.35, -0.55, -0.1, true]);
    expect(changeText("win", one)).toBe("40.0 % → 75.0 %, +35.0 points [+10.0, +55.0]");
  });
  it("are found by words of their names", async () => {
    const { named } = await import("../src/pairs");
    expect(named(["m0", "m1", "random"], " M1, ran ")).toEqual(["m1", "random"]);
    expect(named(["m0", "m1"], "")).toEqual(["m0", "m1"]);
    expect(named(["m0"], "x")).toEqual([]);
  });
});

function member(number: number, values: readonly number[]): MemberRates {
  return {
    member: `m${number}`,
    role: "player",
    blocks: values.map((value, block) => ({
      ...RATE,
      value,
      first: 100 * block,
      last: 100 * block + 100,
      frames: 100 * block + 50,
      snapshots: 1,
    })),
  };
}

describe("win rates over frames", () => {
  it("have a line with its interval for each of few members", async () => {
    const { rateLines } = await import("../src/rates");
    const lines = rateLines([member(0, [0.2, 0.4]), member(1, []), member(2, [0.5])], false);
    expect(lines.map(({ name, colour, x, y }) => [name, colour, x, y])).toEqual([
      ["m0", 0, [50, 150], [0.2, 0.4]],
      ["m2", 2, [50], [0.5]],
    ]);
    expect(lines[0]!.low).toEqual([0.3, 0.3]);
  });
  it("have the median with half of the members, the best and the worst of many", async () => {
    const { rateLines } = await import("../src/rates");
    const many = Array.from({ length: 21 }, (_, number) => member(number, [number / 20]));
    const lines = rateLines(many, false);
    expect(lines.map((line) => line.name)).toEqual([
      "median of all",
      "m20, the best",
      "m19",
      "m18",
      "m0, the worst",
    ]);
    expect([lines[0]!.y, lines[0]!.low, lines[0]!.high]).toEqual([[0.5], [0.25], [0.75]]);
    expect(rateLines(many, true)).toHaveLength(21);
  });
});

describe("circles", () => {
  it("are one graph in which each arrow stands once", async () => {
    const { graphOf } = await import("../src/circleLayout");
    const graph = graphOf([
      ["a", "b", "c"],
      ["a", "b", "d"],
    ]);
    expect(graph.nodes.map((node) => node.name)).toEqual(["a", "b", "c", "d"]);
    expect(graph.arrows.map(({ from, to }) => from + to)).toEqual(["ab", "bc", "ca", "bd", "da"]);
    expect(graph.drawn).toBe(2);
    for (const { x, y } of graph.nodes) {
      expect(x).toBeGreaterThan(0);
      expect(y).toBeLessThan(graph.height);
    }
  });
  it("are as many as have room", async () => {
    const { graphOf } = await import("../src/circleLayout");
    const many = Array.from({ length: 9 }, (_, one) => [`a${one}`, `b${one}`, `c${one}`]);
    const graph = graphOf(many);
    expect([graph.drawn, graph.nodes.length]).toEqual([4, 12]);
  });
});

describe("the matrix", () => {
  it("has squares as large as there is room, and never too small to point at", async () => {
    const { sizeOf } = await import("../src/ui/Matrix");
    expect([sizeOf(1000, 4), sizeOf(1200, 200), sizeOf(300, 200)]).toEqual([46, 5, 4]);
  });
});
