import { describe, expect, it } from "vitest";
import {
  bytes,
  count,
  decimal,
  duration,
  elo,
  interval,
  margin,
  percent,
  short,
  span,
} from "../src/format";
import { csv } from "../src/ui/csv";

/** What the service's own labels look like: three digits, rounded up. */
const LABELS: readonly [number, string][] = [
  [0, "0"],
  [999, "999"],
  [1000, "1k"],
  [1001, "1.01k"],
  [71_680, "71.7k"],
  [350_208, "351k"],
  [421_888, "422k"],
  [999_999, "1000k"],
  [1_200_000, "1.2M"],
  [1_200_001, "1.21M"],
  [5e9, "5B"],
];

describe("numbers", () => {
  it.each(LABELS)("%d frames are %s", (frames, text) => expect(count(frames)).toBe(text));
  it("keep the digits that matter", () => {
    expect([0, 0.0048, 0.016666, 12_345, -0.5, 0.00001234].map(decimal)).toEqual([
      "0",
      "0.0048",
      "0.01667",
      "12.4k",
      "−0.5",
      "1.23e−5",
    ]);
  });
  it("of margins have a sign and three digits", () => {
    expect([0.66, 0.123456, 12.345, -0.5, 0, -0].map(margin)).toEqual([
      "+0.66",
      "+0.123",
      "+12.3",
      "−0.5",
      "0",
      "0",
    ]);
  });
  it("with an open end are a bound", () => {
    expect([
      interval(250, 374, elo),
      interval(640, null, elo),
      interval(null, -200, elo),
      interval(null, null, elo),
    ]).toEqual(["[+250, +374]", ">= +640", "<= −200", ""]);
  });
  it("say what they are", () => {
    expect([
      elo(312.4),
      elo(-0.2),
      elo(-41),
      percent(0.5438),
      percent(1, 0),
      bytes(83_152),
    ]).toEqual(["+312", "0", "−41", "54.4 %", "100 %", "83.2 kB"]);
    expect([0, 59, 61, 7200, 200_000].map(duration)).toEqual([
      "0 s",
      "59 s",
      "1 min",
      "2 h",
      "2 d",
    ]);
    expect([0, 100, 200, 11_000].map((seconds) => span(seconds).unit)).toEqual([
      "s",
      "s",
      "min",
      "h",
    ]);
    expect([short("demo/m0@351k"), short("random")]).toEqual(["m0@351k", "random"]);
  });
});

describe("files", () => {
  it("are CSV that every reader takes", () => {
    expect(
      csv(
        ["a", "b"],
        [
          ['say "x", y', null],
          [1.5, "two\nlines"],
        ],
      ),
    ).toBe('a,b\r\n"say ""x"", y",\r\n1.5,"two\nlines"\r\n');
  });
  it("hold no formulas: names are other people's", () => {
    expect(csv(["a"], [["=1+1"], ["+1"], ["-m0"], ["@SUM(A1)"], [-1.5], ["m-0"]])).toBe(
      "a\r\n'=1+1\r\n'+1\r\n'-m0\r\n'@SUM(A1)\r\n-1.5\r\nm-0\r\n",
    );
  });
});
