import { describe, expect, it, vi } from "vitest";
import type { History } from "../src/pages/population/history";

vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
vi.stubGlobal("devicePixelRatio", 1);

const point = (
  frames: number,
  round: number,
  from: string | null = null,
  at: number | null = null,
): History["members"][string][number] => ({
  frames,
  round,
  values: { lr: 1 },
  copied_from: from,
  donor_frames: at,
  mutated: from === null ? ["lr"] : [],
  verdict: "",
});

/** b copies a, c copies b, then a copies c: all descend from a in the end; d stays alone. */
const HISTORY: History = {
  start: { a: { lr: 1 }, b: { lr: 1 }, c: { lr: 1 }, d: { lr: 1 } },
  origins: {},
  began: {},
  members: {
    a: [point(300, 3, "c", 290)],
    b: [point(100, 1, "a", 90)],
    c: [point(200, 2, "b", 210)],
    d: [point(100, 1)],
  },
};
const NOW = new Map([
  ["a", 400],
  ["b", 400],
  ["c", 350],
  ["d", 400],
]);

describe("ancestry", () => {
  it("gives a lane the founder of the weights that it holds", async () => {
    const { ancestryOf } = await import("../src/pages/population/ancestry");
    const { stretches, families, most } = ancestryOf(HISTORY, NOW);
    expect(stretches.map(({ member, from, to, founder }) => [member, from, to, founder])).toEqual([
      ["a", 0, 300, "a"],
      ["a", 300, 400, "a"],
      ["b", 0, 100, "b"],
      ["b", 100, 400, "a"],
      ["c", 0, 200, "c"],
      ["c", 200, 350, "a"],
      ["d", 0, 400, "d"],
    ]);
    expect(families).toEqual([
      { founder: "a", members: ["a", "b", "c"] },
      { founder: "d", members: ["d"] },
    ]);
    expect(most).toBe(400);
  });
  it("follows a member that joined to the weights that it began with", async () => {
    const { ancestryOf } = await import("../src/pages/population/ancestry");
    const joined: History = {
      ...HISTORY,
      start: { ...HISTORY.start, e: { lr: 1 }, f: { lr: 1 } },
      origins: { e: { member: "b", frames: 150 }, f: { member: null, frames: null } },
    };
    const { founders } = ancestryOf(joined, NOW);
    expect([founders.get("e"), founders.get("f")]).toEqual(["a", "f"]);
  });
  it("ends even where rows contradict each other", async () => {
    const { ancestryOf, pathTo } = await import("../src/pages/population/ancestry");
    const { copiesOf } = await import("../src/pages/population/history");
    const circular: History = {
      ...HISTORY,
      members: { a: [point(100, 1, "b", 100)], b: [point(100, 1, "a", 100)] },
    };
    expect(ancestryOf(circular, NOW).families.length).toBeGreaterThan(0);
    const copies = copiesOf(circular);
    expect(pathTo(circular, copies, { member: "a", frames: 200 }).length).toBeLessThan(5);
  });
  it("tells the path to a policy, oldest first, and its steps", async () => {
    const { isStep, pathTo } = await import("../src/pages/population/ancestry");
    const { copiesOf } = await import("../src/pages/population/history");
    const copies = copiesOf(HISTORY);
    const path = pathTo(HISTORY, copies, { member: "a", frames: 380 });
    expect(path.map(({ member, from, to }) => [member, from, to])).toEqual([
      ["a", 0, 90],
      ["b", 100, 210],
      ["c", 200, 290],
      ["a", 300, 380],
    ]);
    expect(copies.map((copy) => isStep(path, copy))).toEqual([true, true, true]);
    const early = pathTo(HISTORY, copies, { member: "a", frames: 299 });
    expect(early.map(({ member, to }) => [member, to])).toEqual([["a", 299]]);
    expect(copies.map((copy) => isStep(early, copy))).toEqual([false, false, false]);
  });
  it("has a colour for each of few members, and for the largest families of many", async () => {
    const { ancestryOf, byFamily, familyColours } =
      await import("../src/pages/population/ancestry");
    const few = ancestryOf(HISTORY, NOW);
    expect([...familyColours(few)]).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 2],
      ["d", 3],
    ]);
    expect(byFamily(few)).toEqual(["a", "b", "c", "d"]);
    const names = Array.from({ length: 64 }, (_, n) => `m${n}`);
    const many = ancestryOf(
      {
        start: Object.fromEntries(names.map((name) => [name, { lr: 1 }])),
        origins: {},
        began: {},
        members: { m3: [point(10, 1, "m60", 9)], m5: [point(10, 1, "m60", 9)] },
      },
      new Map(names.map((name) => [name, 100])),
    );
    expect(familyColours(many).get("m60")).toBe(0);
    expect(familyColours(many).size).toBe(7);
    expect(byFamily(many).slice(0, 3)).toEqual(["m60", "m3", "m5"]);
  });
});

describe("the picture of a lineage", () => {
  const drawn = async (width = 500) => {
    const { ancestryOf, familyColours, pathTo } = await import("../src/pages/population/ancestry");
    const { pictureOf } = await import("../src/pages/population/lineagePicture");
    const of = ancestryOf(HISTORY, NOW);
    const path = pathTo(HISTORY, of.copies, { member: "c", frames: 350 });
    return pictureOf(of, of.members, familyColours(of), path, width);
  };
  it("begins an arc at the donor's moment and ends it at the copy's", async () => {
    const { arcs, names } = await drawn();
    const arc = arcs.find(({ copy }) => copy.to === "c")!;
    const x = (frames: number) => 46 + ((500 - 46 - 14) * frames) / 400;
    expect(arc.path.startsWith(`M ${x(210).toFixed(1)} ${names[1]!.y.toFixed(1)} `)).toBe(true);
    expect([arc.x, arc.y]).toEqual([x(200), names[2]!.y]);
    expect(arc.colour).toBe(0);
  });
  it("makes the path stand out, and draws it last", async () => {
    const { arcs, lines } = await drawn();
    expect(arcs.map(({ copy, bold }) => [copy.to, bold])).toEqual([
      ["a", false],
      ["b", true],
      ["c", true],
    ]);
    expect(lines.filter(({ bold }) => bold).map(({ key }) => key.split(" ")[0])).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(lines.findIndex(({ bold }) => bold)).toBe(7);
  });
  it("finds the copy whose end is near", async () => {
    const { copyAt } = await import("../src/pages/population/lineagePicture");
    const picture = await drawn();
    const { x, y, copy } = picture.arcs[0]!;
    expect([copyAt(picture, x + 5, y - 5), copyAt(picture, x + 40, y)]).toEqual([copy, null]);
  });
  it("fits on a screen or two, however many members there are", async () => {
    const { laneHeight } = await import("../src/pages/population/ancestry");
    expect([1, 4, 32, 64, 128].map((members) => laneHeight(members))).toEqual([34, 34, 28, 14, 13]);
  });
});

describe("rounds by their numbers", () => {
  it("count copies and mutations, newest first", async () => {
    const { roundNumbers } = await import("../src/pages/population/history");
    expect(roundNumbers(HISTORY)).toEqual([
      { round: 3, members: 1, copies: 1, mutated: 0, first: 300, last: 300 },
      { round: 2, members: 1, copies: 1, mutated: 0, first: 200, last: 200 },
      { round: 1, members: 2, copies: 1, mutated: 1, first: 100, last: 100 },
    ]);
  });
});

describe("values that the strongest share", () => {
  it("are ranges of the top quarter against those of all", async () => {
    const { sharedValues } = await import("../src/pages/population/sharedValues");
    const ranked = Array.from({ length: 8 }, (_, n) => ({ lr: n < 2 ? 1 : 2 ** n, beta: 0.9 }));
    const [beta, lr] = sharedValues(ranked);
    expect(beta).toMatchObject({ name: "beta", chance: null, top: { low: 0.9, high: 0.9 } });
    expect(lr).toMatchObject({ all: { low: 1, high: 128 }, top: { low: 1, median: 1, high: 1 } });
    // One pair of 28 is as close together.
    expect(lr!.chance).toBeCloseTo(1 / 28, 10);
  });
  it("are as close together as chance makes them with the right probability", async () => {
    const { chanceOf } = await import("../src/pages/population/sharedValues");
    const all = [1, 2, 3, 5, 8, 13];
    const pairs = all.flatMap((a, i) => all.slice(i + 1).map((b) => b - a));
    for (const chosen of [
      [1, 2],
      [3, 5],
      [5, 8],
      [1, 13],
    ]) {
      const spread = chosen[1]! - chosen[0]!;
      const expected = pairs.filter((pair) => pair <= spread).length / pairs.length;
      expect(chanceOf(all, chosen)).toBeCloseTo(expected, 10);
    }
    expect(chanceOf([1, 1, 1, 1], [1, 1])).toBeCloseTo(1, 10);
  });
  it("say nothing of one member alone", async () => {
    const { quarterOf, sharedValues } = await import("../src/pages/population/sharedValues");
    expect([1, 4, 5, 8, 64].map(quarterOf)).toEqual([1, 1, 2, 2, 16]);
    expect(sharedValues([{ lr: 1 }, { lr: 2 }, { lr: 3 }])[0]!.chance).toBeNull();
    expect(sharedValues([])).toEqual([]);
  });
});

describe("a round in words", () => {
  const lead = {
    member: "m1",
    objective: 0.64,
    ahead: 0.2712,
    opponents: 5,
    errors: 5.218,
    p: 1.34e-7,
    level: 0.000417,
    copied: true,
  };
  const one = { reason: "copies m1", lead } as Parameters<
    typeof import("../src/pages/population/roundWords").whyText
  >[0];
  it("says how far the copied member was ahead, and whether chance makes that", async () => {
    const { whyText } = await import("../src/pages/population/roundWords");
    expect(whyText(one, "win")).toBe(
      "m1 was ahead by 27.1 points on 5 common opponents (5.22 standard errors), more than chance " +
        "makes (p = 1.3e−7; the round allows 0.00042)",
    );
    const behind = { ...one, lead: { ...lead, ahead: -1.5, opponents: 0, copied: false, p: 0.9 } };
    expect(whyText(behind, "margin")).toBe(
      "m1 was behind by 1.5 over all games (5.22 standard errors), which may be chance (p = 0.9; " +
        "the round allows 0.00042)",
    );
    expect(whyText(one, "return")).toContain("m1 was ahead by 0.271 on 5 common partners (");
    expect(whyText({ ...one, lead: null, reason: "too few ranked to copy" }, "win")).toBe(
      "too few ranked to copy",
    );
  });
  it("writes a value before, of the donor, and after", async () => {
    const { changeText } = await import("../src/pages/population/roundWords");
    expect(changeText({ name: "lr", before: 0.0005, donor: 0.0006, after: 0.00072 })).toBe(
      "0.0005 → 0.0006 → 0.00072",
    );
    expect(changeText({ name: "lr", before: 0.0005, donor: 0.0006, after: 0.0006 })).toBe(
      "0.0005 → 0.0006",
    );
    expect(changeText({ name: "lr", before: 1, donor: null, after: 2 })).toBe("1 → 2");
  });
});

describe("rings of copies", () => {
  it("lie on the line of the member that copied, between the points around them", async () => {
    const { ringsOn } = await import("../src/pages/population/rated");
    const { copiesOf } = await import("../src/pages/population/history");
    const line = { name: "b", colour: 0, x: [50, 150, 250], y: [0, 10, null] };
    const copies = copiesOf(HISTORY);
    expect(ringsOn(line, copies)).toEqual([{ x: 100, y: 5 }]);
    expect(ringsOn({ ...line, x: [100, 150, 250] }, copies)).toEqual([{ x: 100, y: 0 }]);
    expect(ringsOn({ ...line, x: [110, 150, 250] }, copies)).toEqual([]);
    expect(ringsOn({ ...line, x: [1, 2, 3] }, copies)).toEqual([]);
    expect(ringsOn({ ...line, y: [0, null, 10] }, copies)).toEqual([]);
    expect(ringsOn({ ...line, name: "d" }, copies)).toEqual([]);
  });
});
