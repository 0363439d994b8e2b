import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Pair } from "../src/api/reports";

/** The modules ask this of a browser when they are loaded. */
beforeAll(() => {
  vi.stubGlobal("location", new URL("http://service/app/populations/first?key=a"));
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
});

const POINT = {
  round: 1,
  values: { lr: 2 },
  copied_from: null,
  donor_frames: null,
  mutated: [],
  verdict: "",
};
const HISTORY = {
  origins: {},
  began: {},
  start: { m0: { lr: 1 }, m1: { lr: 1 } },
  members: {
    m0: [{ ...POINT, frames: 100 }],
    m1: [{ ...POINT, frames: 120, values: { lr: 3 }, copied_from: "m0", donor_frames: 110 }],
  },
};

describe("addresses", () => {
  it("say what is shown, and say it back", async () => {
    const { partsOf, to } = await import("../src/address");
    expect(to(["populations", "a/b"], { key: ["x", "y&z"], all: true, none: "" })).toBe(
      "/app/populations/a%2Fb?key=x&key=y%26z&all=1",
    );
    expect(partsOf("/app/populations/a%2Fb/")).toEqual(["populations", "a/b"]);
    expect(partsOf("/")).toEqual([]);
    expect([partsOf("/app/%"), partsOf("/app/matches/%E0%A4")]).toEqual([
      ["%"],
      ["matches", "%E0%A4"],
    ]);
  });
  it("of resources leave out what is undefined", async () => {
    const { address } = await import("../src/api/client");
    expect(
      address("/v1/populations/{name}", {
        path: { name: "a?b" },
        query: { limit: 5, cursor: undefined },
      }),
    ).toBe("/v1/populations/a%3Fb?limit=5");
  });
});

describe("schedules", () => {
  it("hold each value until the next, up to now, and mark copies", async () => {
    const { linesOf } = await import("../src/pages/population/Schedules");
    const [first, second] = linesOf(HISTORY, "lr", new Map([["m0", 150]]));
    expect([first!.x, first!.y, first!.marks]).toEqual([[0, 100, 150], [1, 2, 2], undefined]);
    expect([second!.x, second!.y, second!.marks]).toEqual([[0, 120], [1, 3], [{ x: 120, y: 3 }]]);
  });
  it("tell copies by frames, rounds newest first", async () => {
    const { roundsOf } = await import("../src/pages/population/Schedules");
    const { copiesOf } = await import("../src/pages/population/history");
    expect(roundsOf(HISTORY).map((round) => round.member)).toEqual(["m1", "m0"]);
    expect(copiesOf(HISTORY)).toEqual([
      { from: "m0", to: "m1", frames: 120, fromFrames: 110, round: 1, verdict: "" },
    ]);
  });
});

const MET: Pair = {
  player: "a",
  opponent: "b",
  games: 4,
  wins: 3,
  draws: 1,
  losses: 0,
  score: 0.875,
  low: 0.5,
  high: 1,
  margin: null,
  margin_low: null,
  margin_high: null,
  units: null,
};

describe("the matrix", () => {
  it("knows each pair from both sides", async () => {
    const { cells } = await import("../src/ui/Matrix");
    const found = cells([MET]);
    expect(found.get("b a")).toEqual({
      row: "b",
      column: "a",
      games: 4,
      wins: 0,
      draws: 1,
      losses: 3,
      score: 0.125,
      low: 0,
      high: 0.5,
      margin: null,
    });
    expect(found.size).toBe(2);
  });
  it("counts margins where they count: who wins more games may win less", async () => {
    const { bothSides, cells, metOf } = await import("../src/pairs");
    const pair = { ...MET, margin: -1.274, margin_low: -2, margin_high: null, units: 4 };
    const found = cells([pair]);
    expect([found.get("a b")!.margin, found.get("b a")!.margin]).toEqual([
      { mean: -1.274, low: -2, high: null },
      { mean: 1.274, low: null, high: 2 },
    ]);
    const back = bothSides("margin", [metOf(pair)]).get("b a")!;
    expect([back.wins, back.losses, back.value, back.low, back.high]).toEqual([
      0,
      3,
      1.274,
      null,
      2,
    ]);
  });
  it("is blue above a half, orange below, and written in ink that is read", async () => {
    const { inkOn, scoreColour } = await import("../src/ui/colours");
    expect(scoreColour(1, 1000, false)).toBe("rgb(0 92 170)");
    expect(scoreColour(0, 1000, false)).toBe("rgb(205 95 0)");
    expect(scoreColour(0.5, 1000, false)).toBe("rgb(240 241 243)");
    expect([inkOn("rgb(0 92 170)"), inkOn("rgb(240 241 243)")]).toEqual(["#fff", "#000"]);
  });
});

describe("charts", () => {
  it("tell the newest value at a place", async () => {
    const { valueAt } = await import("../src/ui/lines");
    const line = { name: "m0", colour: 0, x: [0, 10, 20], y: [1, null, 3] };
    expect([-1, 0, 9, 10, 25].map((x) => valueAt(line, x, String))).toEqual([
      "–",
      "1",
      "1",
      "–",
      "3",
    ]);
  });
});

describe("lines", () => {
  it("are drawn again when any point differs, not only the newest", async () => {
    const { same } = await import("../src/ui/lines");
    const line = {
      name: "m0",
      colour: 0,
      x: [0, 10, 20],
      y: [1, null, 3],
      low: [0, null, 2],
      high: [2, null, 4],
      marks: [{ x: 10, y: 2 }],
    };
    expect(
      same([line], [{ ...line, x: [...line.x], y: [...line.y], marks: [{ x: 10, y: 2 }] }]),
    ).toBe(true);
    const others = [
      { ...line, y: [2, null, 3] },
      { ...line, low: [1, null, 2] },
      { ...line, marks: [{ x: 10, y: 1 }] },
      { ...line, name: "m1" },
      { ...line, x: [0, 11, 20] },
    ];
    expect(others.map((other) => same([line], [other]))).toEqual(others.map(() => false));
    expect(same([line], [line, line])).toBe(false);
  });
});

describe("a part of a chart that was chosen", () => {
  it("stays while points are added; all of it grows", async () => {
    const { zoomOf } = await import("../src/ui/zoom");
    const chart = (min: number, max: number) =>
      ({ data: [[0, 10, 20]], scales: { x: { min, max } } }) as unknown as Parameters<
        typeof zoomOf
      >[0];
    expect(zoomOf(chart(0, 20), "frames")).toBeNull();
    expect(zoomOf(chart(5, 20), "frames")).toEqual({ min: 5, max: 20, unit: "frames" });
    expect(zoomOf(chart(0, 15), "frames")).toEqual({ min: 0, max: 15, unit: "frames" });
    expect(
      zoomOf(
        { data: [[]], scales: { x: {} } } as unknown as Parameters<typeof zoomOf>[0],
        "frames",
      ),
    ).toBeNull();
  });
  it("stands in the address; a text that is no part of a chart chooses nothing", async () => {
    const { zoomFrom } = await import("../src/ui/zoom");
    expect(zoomFrom("5~20.5", "frames")).toEqual({ min: 5, max: 20.5, unit: "frames" });
    expect(
      [undefined, "", "5", "20~5", "a~b", "5~"].map((told) => zoomFrom(told, "frames")),
    ).toEqual(Array(6).fill(null));
  });
});

describe("the score of a match over its games", () => {
  it("has a limited number of points, from the first to the newest", async () => {
    const { withPoint } = await import("../src/pages/MatchRequest");
    let points: ReturnType<typeof withPoint> = [];
    for (let games = 2; games <= 20_000; games += 2)
      points = withPoint(points, { games, value: 0.5, low: 0.4, high: 0.6 });
    expect(points.length).toBeLessThanOrEqual(400);
    expect(points.length).toBeGreaterThan(100);
    expect([points[0]!.games, points.at(-1)!.games]).toEqual([2, 20_000]);
    const gaps = points.slice(1).map((point, index) => point.games - points[index]!.games);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(400);
    expect(withPoint(points, points[3]!)).toBe(points);
  });
});

describe("what is not there", () => {
  it("says whether it was asked for", async () => {
    const { whyNot } = await import("../src/ui/state");
    const { ServiceProblem } = await import("../src/api/client");
    const told = (value: unknown, problem: InstanceType<typeof ServiceProblem> | null = null) =>
      whyNot({ value, problem }, "it has not played");
    expect([
      told({}),
      told(undefined),
      told(undefined, new ServiceProblem(503, "not ready", "")),
    ]).toEqual(["it has not played", "it is being loaded", "not ready"]);
  });
});

describe("many lines", () => {
  it("share the points of a chart", async () => {
    const { pointsFor } = await import("../src/ui/lines");
    expect([0, 1, 16, 64, 1000].map(pointsFor)).toEqual([400, 400, 400, 100, 60]);
  });
});

describe("configs", () => {
  it("differ where a value does, whatever the depth", async () => {
    const { changedValues, withValue } = await import("../src/configValues");
    const before = { seed: 1, pbt: { copy_gap: null, bounds: [1, 2] }, env: { name: "leduc" } };
    expect(changedValues(before, before)).toEqual([]);
    const after = { ...withValue(before, ["seed"], "2"), pbt: { bounds: [1, 3] }, new: true };
    expect(changedValues(before, after)).toEqual([
      { key: "seed", before: 1, after: 2 },
      { key: "pbt.bounds", before: [1, 2], after: [1, 3] },
      { key: "new", before: undefined, after: true },
    ]);
  });
});

describe("edits", () => {
  it("show what is wanted: what waits before what is in force", async () => {
    const { wanted } = await import("../src/pages/population/Edits");
    const config = {
      stop_at_frames: 1000,
      pbt: { period_frames: 10 },
      evaluation: { share: 0.05 },
    };
    const found = wanted({
      spec: {
        desired: "running",
        pending_edits: ["evaluation.share=0.3", "evaluation.share=0.4", "seed=2"],
        config,
      },
    } as unknown as Parameters<typeof wanted>[0]);
    expect(found).toMatchObject({
      stop_at_frames: "1000",
      "pbt.period_frames": "10",
      "evaluation.share": "0.4",
      "snapshots.keep_newest": "",
    });
  });
  it("have a field for each hyperparameter that the service names", async () => {
    const { wanted } = await import("../src/pages/population/Edits");
    const { hyperparameterFields } = await import("../src/pages/population/editFields");
    const hyperparameters = ["learning.entropy_coef", "dqn.epsilon_end", "learning.shaping.win"];
    expect(hyperparameterFields(hyperparameters).map(({ title }) => title)).toEqual([
      "Entropy coefficient",
      "Epsilon end",
      "Shaping win",
    ]);
    const config = { learning: { entropy_coef: 0.01, shaping: { win: 2 } } };
    const found = wanted({
      spec: { desired: null, pending_edits: ["dqn.epsilon_end=0.1"], config, hyperparameters },
    } as unknown as Parameters<typeof wanted>[0]);
    expect(found).toMatchObject({
      "learning.entropy_coef": "0.01",
      "dqn.epsilon_end": "0.1",
      "learning.shaping.win": "2",
    });
  });
});

describe("the schedule of a policy", () => {
  const step = {
    member: "m0",
    member_frames: 0,
    changed: [],
    round: null,
    verdict: "",
    donor: null,
    began: null,
  };
  const donor = { member: "m1", frames: 50, generation: 0, created_at: 1, snapshot: null };
  it("goes on through its copies to the frames it has", async () => {
    const { scheduleLine } = await import("../src/pages/Policy");
    const steps = [
      { ...step, frames: 0, kind: "start" as const, hyperparams: { lr: 1 } },
      { ...step, frames: 50, kind: "copy" as const, hyperparams: { lr: 2 }, donor },
      { ...step, frames: 80, kind: "mutate" as const, hyperparams: { lr: 3 } },
    ];
    expect(scheduleLine(steps, "lr", 120)).toMatchObject({
      x: [0, 50, 80, 120],
      y: [1, 2, 3, 3],
      marks: [{ x: 50, y: 2 }],
    });
    expect(scheduleLine(steps.slice(0, 1), "lr", 10)).not.toHaveProperty("marks");
  });
});

describe("the verdict of a match", () => {
  it("follows from the interval", async () => {
    const { verdictOf } = await import("../src/pages/MatchStatistics");
    const told = (low: number, high: number) =>
      verdictOf({ low, high } as Parameters<typeof verdictOf>[0], "a", "b");
    expect(
      [told(0.51, 0.6), told(0.3, 0.49), told(0.4, 0.6)].map((text) => text.split(" ")[0]),
    ).toEqual(["a", "b", "Not"]);
  });
});

describe("anchors", () => {
  it("are the players that do not learn", async () => {
    const { anchorsOf } = await import("../src/pages/population/RatingChart");
    const row = (player: string, kind: string, id: string) => ({ player, kind, id, elo: 0 });
    const players = [
      row("demo/m0@1k", "snapshot", "a"),
      row("demo/m1@1k", "snapshot", "b"),
      row("random", "scripted", "random"),
    ];
    const report = { objective: "win", players } as unknown as Parameters<typeof anchorsOf>[0];
    const snapshots = {
      items: [
        { id: "a", is_anchor: false },
        { id: "b", is_anchor: true },
      ],
    } as unknown as Parameters<typeof anchorsOf>[1];
    expect(anchorsOf(report, snapshots)).toEqual(["demo/m1@1k", "random"]);
  });
});
