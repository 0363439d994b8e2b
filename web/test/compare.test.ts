import { describe, expect, it, vi } from "vitest";
import type { Line } from "../src/ui/lines";

vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
vi.stubGlobal("devicePixelRatio", 1);

describe("series of several populations", () => {
  it("go over another axis as far as its clock reaches", async () => {
    const { overClock } = await import("../src/series");
    const series = { population: "a", member: "m0", x: [0, 5, 10, 20], y: [1, 2, 3, 4] };
    const clock = { frames: [0, 10], at: [0, 60] };
    expect(overClock({ ...series, low: [0, 1, 2, 3], high: [2, 3, 4, 5] }, clock)).toEqual({
      ...series,
      x: [0, 30, 60],
      y: [1, 2, 3],
      low: [0, 1, 2],
      high: [2, 3, 4],
    });
  });
  it("are smoothed over a share of the axis, and gaps stay gaps", async () => {
    const { smoothed } = await import("../src/series");
    const x = Array.from({ length: 101 }, (_, index) => index);
    const line = { x, y: x.map((at) => (at % 2 ? 10 : 0)), low: x, high: x };
    const flat = smoothed(line, 0.2);
    expect(flat.low).toBeUndefined();
    expect(flat.y.slice(10, 90).every((value) => Math.abs(value! - 5) < 0.5)).toBe(true);
    expect(smoothed(line, 0)).toBe(line);
    expect(smoothed({ x: [0, 1, 2], y: [0, null, 4] }, 1).y).toEqual([0, null, 4]);
    expect(smoothed({ x: [0, 1, 2], y: [0, null, 4] }, 2).y).toEqual([2, null, 2]);
  });
  it("are grouped by names that differ in the number at their end", async () => {
    const { groupsOf } = await import("../src/series");
    expect(groupsOf(["try-a1", "try-b1", "try-a2", "demo", "try-b2", "7"])).toEqual([
      { name: "try-a", of: ["try-a1", "try-a2"] },
      { name: "try-b", of: ["try-b1", "try-b2"] },
      { name: "demo", of: ["demo"] },
      { name: "7", of: ["7"] },
    ]);
  });
  it("have a mean where enough of them have a value, with the range of them", async () => {
    const { linesBy, meanOf } = await import("../src/series");
    const of = (population: string, member: string, x: number[], y: number[]) => ({
      population,
      member,
      x,
      y,
    });
    const all = [
      of("a1", "m0", [0, 10], [0, 10]),
      of("a1", "m1", [0, 10], [2, 12]),
      of("a2", "m0", [0, 10], [5, 5]),
      of("b", "m0", [0, 20], [1, 1]),
    ];
    expect(meanOf(all.slice(0, 2))).toEqual({
      x: [0, 10],
      y: [1, 11],
      low: [0, 10],
      high: [2, 12],
    });
    expect(meanOf([all[0]!, all[3]!]).x).toEqual([0, 10]);
    expect(linesBy(all, "members").map(({ name }) => name)).toEqual([
      "a1/m0",
      "a1/m1",
      "a2/m0",
      "b/m0",
    ]);
    expect(linesBy(all, "groups")).toEqual([
      { name: "a (2 runs)", colour: 0, x: [0, 10], y: [3, 8], low: [1, 5], high: [5, 11] },
      { name: "b", colour: 1, x: [0, 20], y: [1, 1], low: [1, 1], high: [1, 1] },
    ]);
  });
});

describe("the picture of a chart", () => {
  const line = (name: string, colour: number, more: Partial<Line> = {}): Line => ({
    name,
    colour,
    x: [0, 50, 100],
    y: [0, null, 1],
    ...more,
  });
  const palette = {
    page: "#fff",
    ink: "#000",
    soft: "#555",
    grid: "#ddd",
    series: Array.from({ length: 8 }, (_, index) => `#00000${index}`),
  };
  const shown = {
    title: 'a < b & "c"',
    lines: [line("x<y", 0), line("z", 9, { low: [0, 0, 0], high: [1, 1, 1] })],
    summary: null,
    x: [0, 100] as const,
    y: [0, 1] as const,
    log: false,
    unit: "frames",
    format: String,
    formatX: String,
    dash: (colour: number) => (colour < 8 ? [] : [8, 4]),
  };
  it("has ticks of round numbers", async () => {
    const { logTicks, ticks } = await import("../src/ui/picture");
    expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticks(-310, 420, 6)).toEqual([-200, 0, 200, 400]);
    expect(ticks(3, 3, 5)).toEqual([3]);
    expect(logTicks(0.004, 0.3)).toEqual([0.005, 0.01, 0.02, 0.05, 0.1, 0.2]);
  });
  it("moves the paths of a drawing, and refuses what it cannot move", async () => {
    const { moved } = await import("../src/ui/drawnPicture");
    expect(moved("M 1 2 C 3.5 -4, 5 6, 7 8z", 10, 100)).toBe("M 11 102 C 13.5 96, 15 106, 17 108z");
    expect(() => moved("M1 2h3", 1, 1)).toThrow("a path with h cannot be moved");
  });

  it("is SVG in which no name is markup, with every line, band and gap", async () => {
    const { pictureOf, svgOf } = await import("../src/ui/picture");
    const svg = svgOf(pictureOf({ ...shown, named: shown.lines }, palette));
    expect(svg).toContain("a &lt; b &amp; &quot;c&quot;");
    expect(svg).toContain(">x&lt;y</text>");
    expect(svg).not.toMatch(/NaN|undefined|<y/);
    expect(svg).toContain('stroke-dasharray="8 4"');
    // The gap begins the line anew: two moves, no line.
    expect(svg).toMatch(/d="M72 444M940 44"/);
    expect(svg.match(/opacity="0.18"/g)).toHaveLength(1);
  });
  it("of many lines has the median and the named ones", async () => {
    const { pictureOf } = await import("../src/ui/picture");
    const { summaryOf } = await import("../src/ui/summary");
    const lines = Array.from({ length: 9 }, (_, n) => line(`m${n}`, n, { y: [n, n, n] }));
    const picture = pictureOf(
      { ...shown, y: [0, 9], lines, named: [lines[0]!], summary: summaryOf(lines) },
      palette,
    );
    const texts = picture.shapes.flatMap((shape) => (shape.kind === "text" ? [shape.text] : []));
    expect(texts).toContain("median of 9 and their middle half");
    expect(texts).toContain("m0");
    expect(texts).not.toContain("m1");
    expect(picture.height).toBeGreaterThan(488);
  });
});

describe("what is compared", () => {
  it("has a unit or a sentence for every curve of a training", async () => {
    const { metricOf, withUnit } = await import("../src/metrics");
    const unknown = metricOf("of_tomorrow").says;
    const curves =
      "version rows policy_loss value_loss entropy value kl clip_fraction explained_variance grad_norm lag_mean lag_max skipped_steps learning_rate entropy_coef adam_beta1 shaping.reward win_rate margin return points frames_per_s";
    for (const key of curves.split(" ")) {
      expect(metricOf(key).says).not.toBe(unknown);
      expect(metricOf(key).says).toMatch(/^[A-Z].*\.$/);
    }
    expect([withUnit("entropy"), withUnit("grad_norm")]).toEqual(["entropy (nats)", "grad_norm"]);
  });
  it("over games counts those of the whole population", async () => {
    const { gameClocks } = await import("../src/pages/compare/measures");
    const taken = (member: string, frames: number, games: number) => ({
      id: "",
      population: "a",
      member,
      role: "player",
      generation: 0,
      version: 0,
      frames,
      games,
      reason: "schedule",
      parent_id: null,
      size_bytes: 1,
      is_anchor: false,
      has_weights: true,
      superseded: false,
      created_at: 0,
    });
    const items = [taken("m0", 200, 9), taken("m0", 100, 4), taken("m1", 0, 0), taken("m1", 50, 3)];
    expect(gameClocks({ items, next: null })).toEqual(
      new Map([
        ["m0", { frames: [0, 100, 200], at: [0, 4, 9] }],
        ["m1", { frames: [0, 50], at: [0, 3] }],
      ]),
    );
  });
});

describe("what came of a match", () => {
  const standing = (wins: number, draws: number, losses: number, mean_return: number) => ({
    games: wins + draws + losses,
    wins,
    draws,
    losses,
    mean_return,
    interval: null as { low: number; high: number } | null,
  });
  it("is the score, the margin or the returns, by what decides", async () => {
    const { resultOf } = await import("../src/matchResults");
    const of = [standing(6, 2, 2, 1.5), standing(2, 2, 6, -0.5)];
    const range = { low: 0.41, high: 0.9 };
    const told = (objective: "win" | "margin" | "return", standings = of) =>
      resultOf({ standings, objective, interval: range }, ["a", "b", "c"]);
    expect(told("win")).toEqual({
      text: "70.0 %",
      interval: "[41 %, 90 %]",
      detail: "6 won, 2 drawn, 2 lost",
      value: 0.7,
    });
    expect(told("margin")).toMatchObject({ text: "+1 a game", value: 1 });
    expect(told("return")).toMatchObject({ text: "1.5 – −0.5 a game", detail: "10 games" });
    expect(told("return", [standing(1, 0, 0, 12)])).toMatchObject({ text: "12 a game" });
    const third = { ...standing(7, 0, 3, 2.5), interval: { low: 0.4, high: 0.93 } };
    expect(told("win", [...of, third])).toMatchObject({
      text: "c first in 70.0 %",
      interval: "[40 %, 93 %]",
      detail: "10 games",
    });
    const chips = { ...third, interval: { low: 2, high: 3 } };
    expect(told("margin", [...of, chips])).toMatchObject({
      text: "c +2.5 a game",
      interval: "[+2, +3]",
    });
    const ranged = of.map((one) => ({ ...one, interval: { low: -2, high: 3 } }));
    expect(told("return", ranged)!.interval).toBe("[−2, 3]");
    const apart = [ranged[0]!, { ...of[1]!, interval: { low: -1, high: 0 } }];
    expect(told("return", apart)!.interval).toBe("[−2, 3] – [−1, 0]");
    expect(told("win", [])).toBeNull();
  });
});
