import { describe, expect, it, vi } from "vitest";
import type { Line } from "../src/ui/lines";

vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
vi.stubGlobal("devicePixelRatio", 1);

const line = (name: string, x: number[], y: (number | null)[], more: Partial<Line> = {}): Line => ({
  name,
  colour: 0,
  x,
  y,
  ...more,
});

describe("the median of many lines", () => {
  it("is that of the values between points, where half of the lines have one", async () => {
    const { summaryOf } = await import("../src/ui/summary");
    const lines = [
      line("a", [0, 10], [0, 10]),
      line("b", [0, 10], [2, 2]),
      line("c", [5, 20], [9, 9]),
      line("d", [0, 20], [4, null]),
    ];
    const found = summaryOf(lines);
    expect(found.x).toEqual([0, 5, 10, 20]);
    // d has no value between its only point and the gap.
    expect(found.median).toEqual([2, 5, 9, null]);
    expect([found.least, found.greatest]).toEqual([
      [0, 9, 2, 9],
      [4, 9, 10, 9],
    ]);
  });
  it("has the middle half of the lines around it", async () => {
    const { summaryOf } = await import("../src/ui/summary");
    const lines = Array.from({ length: 101 }, (_, n) => line(`m${n}`, [0, 1], [n, 2 * n]));
    const { low, median, high } = summaryOf(lines);
    expect([low, median, high]).toEqual([
      [25, 50],
      [50, 100],
      [75, 150],
    ]);
  });
  it("has few points however many the lines have, and leaves out no peak", async () => {
    const { summaryOf } = await import("../src/ui/summary");
    const x = Array.from({ length: 5000 }, (_, at) => at);
    const y = x.map((at) => (at === 2500 ? 99 : at === 2501 ? -99 : 1));
    const found = summaryOf(Array.from({ length: 9 }, (_, n) => line(`m${n}`, x, y)));
    expect(found.x.length).toBeLessThanOrEqual(200);
    expect(Math.max(...found.greatest.map(Number))).toBe(99);
    expect(Math.min(...found.least.map(Number))).toBe(-99);
  });
  it("makes room for the interval of a chosen line only", async () => {
    const { summaryOf } = await import("../src/ui/summary");
    const lines = [line("a", [0], [5], { low: [1], high: [8] }), line("b", [0], [6])];
    expect(summaryOf(lines)).toMatchObject({ least: [5], greatest: [6] });
    expect(summaryOf(lines, new Set(["a"]))).toMatchObject({ least: [1], greatest: [8] });
  });
  it("does not jump where clocks differ a little", async () => {
    const { summaryOf } = await import("../src/ui/summary");
    const lines = Array.from({ length: 9 }, (_, n) => line(`m${n}`, [n, 1000 + n], [n, n]));
    expect(new Set(summaryOf(lines).median)).toEqual(new Set([4]));
  });
  it("of no lines is empty", async () => {
    const { summaryOf } = await import("../src/ui/summary");
    expect(summaryOf([line("a", [], [])])).toMatchObject({ x: [], median: [] });
  });
});

describe("the ends of many lines", () => {
  it("are named by their last values", async () => {
    const { extremes } = await import("../src/ui/summary");
    const lines = [line("a", [0, 1], [9, 1]), line("b", [0, 1], [5, null]), line("c", [0], [2])];
    expect(extremes(lines)).toEqual({ highest: "b", lowest: "a" });
    expect([extremes([lines[0]!]), extremes([]), extremes([line("d", [], [])])]).toEqual([
      null,
      null,
      null,
    ]);
  });
  it("have names that do not cover each other", async () => {
    const { apart } = await import("../src/ui/front");
    expect(apart([50, 10, 12], 13)).toEqual([50, 10, 23]);
    expect(apart([100, 100, 100], 10)).toEqual([80, 90, 100]);
    expect(apart([], 10)).toEqual([]);
  });
  it("have the first colours, and chosen ones one of their own in all charts", async () => {
    const { frontColours } = await import("../src/ui/summary");
    const lines = ["a", "b", "c", "d"].map((name) => line(name, [0], [0]));
    const ends = [lines[1]!, lines[3]!];
    const colours = (chosen: string[]) =>
      frontColours(lines, ends, chosen).map(({ colour }) => colour);
    expect(colours([])).toEqual([3, 0, 3, 1]);
    expect(colours(["c", "b"])).toEqual([3, 4, 2, 1]);
  });
});

describe("equal steps", () => {
  const steps = (name: string, y: number[]) => line(name, [0, 10, 20], y, { steps: true });
  it("lie beside each other, and other lines where they are", async () => {
    const { offsetsOf } = await import("../src/ui/summary");
    const found = offsetsOf([steps("a", [1, 2, 2]), steps("b", [1, 3, 3]), steps("c", [9, 8, 8])]);
    expect(found).toEqual([0.5, -0.5, 0]);
  });
  it("of lines that all begin alike have a track each", async () => {
    const { offsetsOf } = await import("../src/ui/summary");
    const all = Array.from({ length: 8 }, (_, n) => steps(`m${n}`, [1, n + 2, n + 2]));
    expect(offsetsOf(all)).toEqual([3.5, 2.5, 1.5, 0.5, -0.5, -1.5, -2.5, -3.5]);
  });
  it("need no track where a value is only touched at the end", async () => {
    const { offsetsOf } = await import("../src/ui/summary");
    expect(offsetsOf([steps("a", [1, 2, 5]), steps("b", [3, 4, 5])])).toEqual([0, 0]);
  });
});
