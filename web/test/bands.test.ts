import { describe, expect, it } from "vitest";
import { bars, outline, turnsOf } from "../src/ui/bands";
import type { Line } from "../src/ui/lines";

const BAND = { x: [0, 10, 20, 30], low: [0, 0, null, 4], high: [2, 2, null, 6] };
const PLACE = { x: (value: number) => value, y: (value: number) => 100 - value };

describe("intervals in a chart", () => {
  it("of several lines stand beside each other, so that no two colours mix", () => {
    const wide = { ...BAND, x: [0, 100, 200, 300] };
    expect(bars(wide, PLACE, { index: 0, count: 3 })).toBe("M-4 98V100M96 98V100M296 94V96");
    expect(bars(wide, PLACE, { index: 1, count: 3 })).toBe("M0 98V100M100 98V100M300 94V96");
    expect(bars(wide, PLACE, { index: 2, count: 3 }, 2)).toBe("M8 98V100M108 98V100M308 94V96");
  });
  it("stay apart where points are dense", () =>
    expect(bars(BAND, PLACE, { index: 0, count: 3 })).toBe("M-4 98V100M26 94V96"));
  it("of one line are a band, over gaps, too", () => {
    expect(outline(BAND, PLACE)).toBe("M0 98L10 98L30 94L30 96L10 100L0 100z");
    expect(outline({ x: [], low: [], high: [] }, PLACE)).toBe("");
  });
  it("take turns among the lines that have an interval", () => {
    const line = (name: string, ends: Partial<Line>): Line =>
      ({ name, colour: 0, x: [0], y: [0], ...ends }) as Line;
    const [first, none, second] = [
      line("a", { low: [0], high: [1] }),
      line("b", {}),
      line("c", { low: [0], high: [1] }),
    ];
    expect([...turnsOf([first!, none!, second!])]).toEqual([
      [first, { index: 0, count: 2 }],
      [second, { index: 1, count: 2 }],
    ]);
  });
});
