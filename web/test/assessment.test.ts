import { describe, expect, it } from "vitest";
import type { Finding, MemberRow } from "../src/api/assessment";
import {
  conclusionOf,
  countedBy,
  lastPbtOf,
  learnsText,
  ordered,
  rangedText,
  restOf,
  worstOf,
} from "../src/assessment";
import { gainsText } from "../src/strength";

const MEMBER: MemberRow = {
  member: "m0",
  role: "player",
  state: "learning",
  frames: 100,
  player: null,
  value: null,
  low: null,
  high: null,
  score: null,
  score_low: null,
  score_high: null,
  score_games: 0,
  score_against: "",
  last_pbt: null,
  trend: [],
  health: "ok",
  health_text: "",
  updates_taken: 0,
  updates_refused: 0,
};

describe("the conclusion", () => {
  it("is a result once the population has finished", () => {
    expect(conclusionOf("learning", "running")).toEqual({ level: "good", title: "It is learning" });
    expect(conclusionOf("learning", "finished").title).toBe("It learned");
    expect(conclusionOf("learning", "finished", 3_100_000)).toEqual({
      level: "info",
      title: "It learned, then stopped growing",
    });
    expect(conclusionOf("stalled", "running", 3_100_000).title).toBe("It has stalled");
    expect(conclusionOf("none_better", "stopped")).toEqual({
      level: "warn",
      title: "No member is surely better than random",
    });
  });
  it("says in a word whether members learn", () => {
    expect(learnsText("learning", { low: 140, high: 220 })).toBe("Yes:");
    expect(learnsText("broken", { low: 140, high: 220 })).toBe("Yes:");
    expect(learnsText("steady", { low: -95, high: 181 })).toBe("Not surely:");
    expect(learnsText("stalled", { low: -10, high: 30 })).toBe("No:");
    expect(learnsText(null, { low: -180, high: -20 })).toBe("No:");
  });
  it("counts in the unit of the game", () => {
    const { name, format } = countedBy("return");
    expect([name, format(-102.5)]).toEqual(["mean return", "−102.5"]);
    expect([countedBy("elo").name, countedBy("margin").name]).toEqual(["Elo", "margin a game"]);
  });
});

describe("findings", () => {
  const finding = (kind: string, level: Finding["level"], text: string): Finding => ({
    kind,
    level,
    text,
    member: null,
    since_frames: null,
  });
  const findings = [
    finding("stalled", "warn", "stalled"),
    finding("warning", "warn", "slow"),
    finding("failed", "bad", "m1 failed"),
  ];
  it("of strength are nothing that is broken", () => {
    expect(worstOf(findings)?.text).toBe("m1 failed");
    expect(worstOf(findings.slice(0, 2))?.text).toBe("slow");
    expect(worstOf(findings.slice(0, 1))).toBeNull();
  });
  it("that stand in the heading are not told twice", () => {
    const role = { role: "player", best: null, gain: null, trend: [] };
    const texts = (roles: number, message = "") =>
      restOf({ findings, roles: Array(roles).fill(role) }, message).map((one) => one.text);
    expect(texts(1)).toEqual(["slow"]);
    expect(texts(2)).toEqual(["stalled", "slow"]);
    expect(texts(1, "slow")).toEqual([]);
  });
});

describe("a number with its interval", () => {
  const text = (value: number | null, low: number | null, high: number | null) =>
    rangedText({ value, low, high }, String);
  it("is a bound where an end is open, and nothing where nothing is known", () => {
    expect(text(5, 4, 6)).toEqual({ text: "5", ends: "[4, 6]" });
    expect(text(5, 4, null)).toEqual({ text: ">= 4", ends: "" });
    expect(text(5, null, null)).toEqual({ text: "5", ends: "" });
    expect(text(null, null, null)).toBeNull();
  });
  it("of a game is what its seats gained", () => {
    expect(gainsText([500], "return")).toBe("500");
    expect(gainsText([-12.5, -12.5, -12.5], "return")).toBe("−12.5 each");
    expect(gainsText([3, -3], "margin")).toBe("+3, −3");
  });
});

describe("members", () => {
  const pbt = (time: number) => ({ member: "m", text: "copied m0", why: "", frames: 1, time });
  const members: MemberRow[] = [
    { ...MEMBER, member: "m10", value: 3, last_pbt: pbt(5) },
    { ...MEMBER, member: "m2", value: 3, health: "refusing" },
    { ...MEMBER, member: "m1", health: "dead", frames: 7 },
    { ...MEMBER, member: "m3", value: -8, last_pbt: pbt(9), frames: 300 },
  ];
  const names = (order: Parameters<typeof ordered>[1]) =>
    ordered(members, order).map((one) => one.member);
  it("stand by strength, and those without a number last", () => {
    expect(names("strength")).toEqual(["m2", "m10", "m3", "m1"]);
  });
  it("stand by health, frames, PBT or name", () => {
    expect(names("health")).toEqual(["m1", "m2", "m3", "m10"]);
    expect(names("frames")).toEqual(["m3", "m2", "m10", "m1"]);
    expect(names("pbt")).toEqual(["m3", "m10", "m1", "m2"]);
    expect(names("name")).toEqual(["m1", "m2", "m3", "m10"]);
  });
  it("tell what PBT did last", () => {
    expect(lastPbtOf(members)?.member).toBe("m3");
    expect(lastPbtOf([MEMBER])).toBeNull();
  });
});
