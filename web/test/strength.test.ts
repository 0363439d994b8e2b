import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Schemas } from "../src/api/client";
import type { RatingReport, ReturnRow } from "../src/api/reports";
import { bestTexts } from "../src/pages/bestTexts";
import { headlineOf, roleTables, strengthOf } from "../src/strength";

/** The modules ask this of a browser when they are loaded. */
beforeAll(() => {
  vi.stubGlobal("location", new URL("http://service/app/league"));
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
});

const ROW = { id: "a", player: "demo/m0@1k", kind: "snapshot" as const };

function rated(values: Partial<Schemas["EloRatedBody"]>): Schemas["EloRatedBody"] {
  return { ...ROW, ...values } as Schemas["EloRatedBody"];
}

function won(values: Partial<Schemas["MarginRatedBody"]>): Schemas["MarginRatedBody"] {
  return { ...ROW, ...values } as Schemas["MarginRatedBody"];
}

function returned(values: Partial<ReturnRow>): ReturnRow {
  const row = { id: "a", player: "demo/m0@1k", mean_return: 2.5, low: 2, high: 3 };
  return { ...row, cross_play: null, cross_play_games: 0, gap: null, ...values } as ReturnRow;
}

describe("the strength of a row", () => {
  it("is Elo, a margin or a return, by the objective of its report", () => {
    const told = [
      strengthOf(rated({ elo: 312.4, low: 250, high: 374 }), "win"),
      strengthOf(won({ margin: 0.6612, low: 0.2, high: 1.1234 }), "margin"),
      strengthOf(returned({}), "return"),
    ];
    expect(told.map(({ text, interval }) => `${text} ${interval}`)).toEqual([
      "+312 [+250, +374]",
      "+0.661 [+0.2, +1.12]",
      "2.5 [2, 3]",
    ]);
  });
  it("is a bound where an end of the interval is open", () => {
    const above = strengthOf(rated({ elo: 900, low: 640, high: null }), "win");
    const below = strengthOf(won({ margin: -3, low: null, high: -2 }), "margin");
    expect([above.text, above.point, above.value]).toEqual([">= +640", 640, 900]);
    expect([below.text, below.point, below.interval]).toEqual(["<= −2", -2, ""]);
  });
  it("is missing without games that connect it, and 0 for random", () => {
    const none = { low: null, high: null };
    expect(strengthOf(rated({ elo: null, ...none }), "win").text).toBeNull();
    expect(strengthOf(rated({ elo: 70, ...none }), "win").text).toBeNull();
    expect(strengthOf(rated({ player: "random", elo: 0, ...none }), "win").text).toBe("0");
    expect(strengthOf(returned(none), "return").text).toBe("2.5");
  });
});

describe("the columns of returns", () => {
  it("say cross-play and gap where a player sat beside others", async () => {
    const { returnColumns } = await import("../src/pages/RatingTable");
    const names = (row: ReturnRow) => returnColumns([row]).map((column) => column.name);
    const alone = ["rank", "player", "mean return", "low", "high", "games"];
    expect(names(returned({}))).toEqual(alone);
    expect(names(returned({ cross_play: 1, cross_play_games: 8, gap: 1.5 }))).toEqual([
      ...alone,
      "cross-play",
      "its games",
      "gap",
    ]);
  });
  it("say no cross-play where all games are", async () => {
    const { returnColumns } = await import("../src/pages/RatingTable");
    const crossed = { mean_return: 2.5, cross_play: 2.5, games: 40, cross_play_games: 40 };
    const names = returnColumns([returned(crossed)]).map((column) => column.name);
    expect(names).toEqual(["rank", "player", "mean return", "low", "high", "games"]);
  });
});

describe("the tables of roles", () => {
  const ids = (rows: readonly { id: string; role: string | null }[]) =>
    roleTables(rows).map(({ role, rows: own }) => [role, own.map((row) => row.id)]);
  it("are one for each role, with players of any role in each", () => {
    const rows = [
      { id: "c", role: "prey" },
      { id: "random", role: null },
      { id: "a", role: "predator" },
      { id: "b", role: "predator" },
    ];
    expect(ids(rows)).toEqual([
      ["predator", ["random", "a", "b"]],
      ["prey", ["c", "random"]],
    ]);
  });
  it("are one table where all play one role", () => {
    const rows = [
      { id: "a", role: "player" },
      { id: "random", role: null },
    ];
    expect(ids(rows)).toEqual([[null, ["a", "random"]]]);
  });
});

describe("the best of many", () => {
  const claim = {
    candidates: 9,
    low: 0.41,
    low_of: "demo/m1@1k",
    own_low: 0.38,
    may_be_best: 3,
    may_be_untrained: false,
    may_be_random: true,
    fresh: [],
    fresh_strength: null,
  };
  const head = {
    population: "demo",
    everyone: false,
    best: "a",
    best_by_role: { player: "a" } as Record<string, string | null>,
    rating: "",
    unit: "a game",
  };
  const report: RatingReport = {
    ...head,
    objective: "margin",
    model: { name: "", explained: null, misfit: null, tau: null, deviations: null, ranked_by: null },
    cycles: [],
    cyclic_share: { share: 0, p: 1 },
    players: [won({ margin: 0.66, low: 0.5, high: 0.8 })],
    best_of_many: { player: claim },
  };
  it("is told with what may be claimed of it", () => {
    expect(bestTexts(report)).toEqual([
      {
        text:
          "demo@best is demo/m0@1k: the highest lower end of its 9 snapshots that play and have " +
          "30 games or more. Chosen among 9: it is at least margin +0.38 a game, and the best of " +
          "them (demo/m1@1k) at least margin +0.41 a game (95 %, for all of them at once); 3 of 9 " +
          "may be the best; so may random. Without fresh games; play them: " +
          "arena match demo/m0@1k random --fresh",
        match: null,
      },
    ]);
  });
  it("is told with its fresh games, of each role", () => {
    const strength = { objective: "win" as const, value: 90.2, low: 40, high: null, units: 400 };
    const measured = { ...strength, matches: 1, seated: "against random" };
    const fresh = { ...claim, low: null, may_be_best: null, fresh: [7], fresh_strength: measured };
    const [prey, predator] = bestTexts({
      ...report,
      best_by_role: { prey: "a", predator: null },
      best_of_many: { prey: fresh, predator: claim },
    });
    expect(prey).toEqual({
      text:
        "demo/prey@best is demo/m0@1k: the highest lower end of its 9 snapshots that play and " +
        "have 30 games or more. Fresh games against random: Elo >= +40, 400 games.",
      match: 7,
    });
    expect(predator!.text).toMatch(/^demo\/predator@best: none yet/);
  });
  it("of returns is told with its fresh games with itself", () => {
    const strength = { objective: "return" as const, value: 4.5, low: 4, high: 5, units: 200 };
    const fresh = { ...strength, matches: 1, seated: "with itself in all seats" };
    const own = { ...claim, may_be_untrained: true, may_be_random: null, fresh_strength: fresh };
    const [best] = bestTexts({
      ...head,
      objective: "return",
      players: [returned({})],
      best_of_many: { player: own },
    });
    expect(best!.text).toContain("3 of 9 may be the best, an untrained one among them. Fresh");
    expect(best!.text).toMatch(/games with itself in all seats: return 4.5.* a game, 200 seeds\.$/);
  });
  it("of which nothing is claimed is told as chosen", () => {
    const text = "demo@best is demo/m0@1k: the highest lower end of those with 30 games or more.";
    expect(bestTexts({ ...head, objective: "return", players: [returned({})], best_of_many: {} })).toEqual([
      { text, match: null },
    ]);
  });
});

describe("the headline of a match", () => {
  const score = { score: 0.4, low: 0.35, high: 0.45 };
  const margin = { units: 20, mean: 0.663, low: 0.2, high: 1.1, interval: "skewed t", los: 0.99 };
  it("is the margin where margins decide, and so is the verdict", async () => {
    const { verdictOf } = await import("../src/pages/MatchStatistics");
    const decided = headlineOf({ ...score, margin });
    expect([decided.name, decided.text, decided.interval]).toEqual([
      "Margin",
      "+0.663 a game",
      "[+0.2, +1.1]",
    ]);
    expect(verdictOf({ ...score, margin }, "a", "b")).toBe("a is stronger (95 %).");
    const alike = { ...margin, low: null, high: null };
    const verdict = verdictOf({ ...score, margin: alike }, "a", "b");
    expect(verdict).toMatch(/^Not decided: .* no interval/);
  });
  it("is the score elsewhere", () => {
    const decided = headlineOf({ ...score, margin: null });
    expect([decided.name, decided.text, decided.interval]).toEqual([
      "Score",
      "40.0 %",
      "[35.0 %, 45.0 %]",
    ]);
  });
});
