/** `Overlay` draws one metric of several populations in one chart, and lets a person choose how. */
import { useMemo, useRef, useState } from "preact/hooks";
import { count, decimal, span } from "../../format";
import { query } from "../../address";
import { type By, linesBy, smoothed } from "../../series";
import { Chart } from "../../ui/Chart";
import { Figure } from "../../ui/Figure";
import { type Line, pointsFor } from "../../ui/lines";
import { Empty } from "../../ui/state";
import type { Column } from "../../ui/table";
import { Value } from "../../ui/value";
import { Choices, chosenBy, chosenOver, chosenShare } from "./Choices";
import {
  AGAINST,
  type Measure,
  opponentsOf,
  otherIn,
  type Over,
  RANDOM,
  STRENGTH,
} from "./measures";
import { type Asked, type Found, Source } from "./Sources";

/** So few points have a dot each. */
const FEW_POINTS = 40;

/** What is known of a population beforehand. */
export interface About {
  /** Of many members each gets fewer points. */
  members: number;
  game: string;
}

/** The answers to one question, by population; null where one has none. */
interface Answers {
  asked: Asked;
  of: ReadonlyMap<string, Found | null>;
}

export function Overlay({
  names,
  about,
}: {
  names: readonly string[];
  about: ReadonlyMap<string, About>;
}) {
  const members = names.reduce((sum, name) => sum + (about.get(name)?.members ?? 1), 0);
  const by = chosenBy(members);
  const asked: Asked = {
    metric: query.value.get("metric") ?? STRENGTH,
    over: chosenOver(),
    against: query.value.get("against") ?? RANDOM,
    points: pointsFor(members),
  };
  const [answers, setAnswers] = useState<Answers>({ asked, of: new Map() });
  const drawn = useDrawn(names, asked, answers);
  const known = [...answers.of.values(), ...drawn.of.values()].flatMap((one) => one ?? []);
  const keys = [...new Set(known.flatMap((one) => one.keys))].sort();
  const rates = known.flatMap((one) => one.rates ?? []);
  return (
    <>
      <Choices
        metric={asked.metric}
        keys={keys}
        against={asked.against}
        by={by}
        opponents={opponentsOf(rates)}
        other={otherIn(rates)}
      />
      {names.map((name) => (
        <Source
          key={JSON.stringify([name, asked.metric, asked.over])}
          name={name}
          asked={asked}
          quiet={drawn.of.size > 0}
          got={(found) =>
            setAnswers((old) => ({
              asked,
              of: new Map([...(alike(old.asked, asked) ? old.of : []), [name, found]]),
            }))
          }
        />
      ))}
      <Drawn drawn={drawn} by={by} about={about} />
    </>
  );
}

function alike(a: Asked, b: Asked): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Returns the answers once all populations have given one; until then those that were drawn before.
 */
function useDrawn(names: readonly string[], asked: Asked, answers: Answers): Answers {
  const kept = useRef<Answers>({ asked, of: new Map() });
  return useMemo(() => {
    const here = names.flatMap((name) => {
      const one = alike(answers.asked, asked) ? answers.of.get(name) : undefined;
      return one === undefined ? [] : [[name, one] as const];
    });
    if (here.length === names.length) kept.current = { asked, of: new Map(here) };
    return kept.current;
  }, [names.join(), JSON.stringify(asked), answers]);
}

function Drawn({
  drawn: { asked, of },
  by,
  about,
}: {
  drawn: Answers;
  by: By;
  about: ReadonlyMap<string, About>;
}) {
  const [share, log] = [chosenShare(), query.value.get("log") === "1"];
  const found = [...of].flatMap(([name, one]) => (one ? [[name, one] as const] : []));
  const measure = found.find(([, one]) => one.series.length)?.[1].measure ?? found[0]?.[1].measure;
  const alike = found.filter(([, one]) => fits(one, measure));
  const { lines, unit } = useMemo(
    () =>
      linesOf(
        alike.map(([, one]) => one),
        asked.over,
        by,
        share,
      ),
    [of, by, share],
  );
  if (!measure) return null;
  const others = found.filter(([, one]) => !fits(one, measure));
  const title = `${measure.title} over ${asked.over}`;
  if (!lines.length)
    return (
      <Empty title={`No population has ${measure.title}`}>
        <p>Choose another metric, or a population that has trained.</p>
      </Empty>
    );
  const positive = lines.every(({ y }) => y.every((value) => value === null || value > 0));
  return (
    <Figure
      title={title}
      note={
        <Notes
          measure={measure}
          by={by}
          share={share}
          others={others.map(([name, one]) => `${name} (${one.measure.value})`)}
          without={alike.flatMap(([name, one]) => (lacks(one, asked) ? name : []))}
          games={gamesOf(
            asked,
            alike.map(([name]) => about.get(name)?.game),
          )}
          intervals={lines.some((line) => line.low)}
          refused={log && !positive}
        />
      }
      columns={columnsOf(unit, measure, lines, by)}
      rows={() => rowsOf(lines)}
    >
      <Chart
        label={title}
        place="curves"
        lines={lines}
        height={360}
        unit={unit}
        format={measure.format}
        formatX={asked.over === "time" ? decimal : count}
        log={log && positive}
        {...(measure.range && !(log && positive) && { range: measure.range })}
      />
    </Figure>
  );
}

/** Returns the different games of populations, where strength is drawn. */
function gamesOf({ metric }: Asked, games: readonly (string | undefined)[]): Set<string> {
  return new Set(
    metric === STRENGTH || metric === AGAINST ? games.flatMap((one) => one || []) : [],
  );
}

/** Returns whether a population trains and has no such curve, as where it learns otherwise. */
function lacks({ keys }: Found, { metric }: Asked): boolean {
  return metric !== STRENGTH && metric !== AGAINST && keys.length > 0 && !keys.includes(metric);
}

function fits(one: Found, measure: Measure | undefined): boolean {
  return one.measure.title === measure?.title;
}

function Notes({
  measure,
  by,
  share,
  others,
  without,
  games,
  intervals,
  refused,
}: {
  measure: Measure;
  by: By;
  share: number;
  others: readonly string[];
  without: readonly string[];
  games: ReadonlySet<string>;
  intervals: boolean;
  refused: boolean;
}) {
  const lines = {
    members: intervals
      ? "A bar, or a band, is a 95 % interval; of more than four lines, that of the line that you point at."
      : "",
    populations:
      "A line is the mean over the members; its band goes from the lowest to the highest.",
    groups:
      "Populations whose names differ in the number at their end are runs of one group. A line is " +
      "the mean over the runs, each the mean over its members; its band goes from the lowest run " +
      "to the highest.",
  }[by];
  return (
    <>
      {measure.says} {lines}
      {games.size > 1 &&
        ` They play different games (${[...games].join(", ")}): equal numbers are not equal strength.`}
      {share > 0 &&
        ` Each point of a member is the mean over ${100 * share} % of the axis around it.`}
      {others.length > 0 && ` Left out, since they count something else: ${others.join(", ")}.`}
      {without.length > 0 && ` Without this curve: ${without.join(", ")}.`}
      {refused && " There are values of 0 or less, so the axis is not logarithmic."}
    </>
  );
}

/** Returns the lines over an axis. Time has the unit that fits the longest training. */
function linesOf(
  found: readonly Found[],
  over: Over,
  by: By,
  share: number,
): { lines: Line[]; unit: string } {
  const all = found.flatMap((one) => one.series).filter((one) => one.x.length);
  const { unit, seconds } = span(Math.max(0, ...all.map((one) => one.x.at(-1)!)));
  const each = over === "time" ? seconds : 1;
  const axis = all.map((one) => smoothed({ ...one, x: one.x.map((x) => x / each) }, share));
  const lines = linesBy(axis, by).map((line) => ({ ...line, points: line.x.length < FEW_POINTS }));
  return {
    lines: lines.filter((line) => line.x.length),
    unit: { frames: "frames", time: `${unit} of training`, games: "games of the population" }[over],
  };
}

interface Row {
  line: string;
  x: number;
  value: number | null;
  low: number | null | undefined;
  high: number | null | undefined;
}

function columnsOf(
  unit: string,
  { value, format }: Measure,
  lines: readonly Line[],
  by: By,
): readonly Column<Row>[] {
  const number = (name: string, of: (row: Row) => number | null | undefined): Column<Row> => ({
    name,
    value: of,
    show: (row) => <Value of={of(row) ?? null} format={format} why="there is none" />,
    numeric: true,
  });
  const ends = lines.some((line) => line.low);
  return [
    {
      name: { members: "member", populations: "population", groups: "group" }[by],
      value: (row) => row.line,
    },
    { name: unit, value: (row) => row.x, show: (row) => decimal(row.x), numeric: true },
    number(value, (row) => row.value),
    ...(ends ? [number("low", (row) => row.low), number("high", (row) => row.high)] : []),
  ];
}

function rowsOf(lines: readonly Line[]): Row[] {
  return lines.flatMap((line) =>
    line.x.map((x, index) => ({
      line: line.name,
      x,
      value: line.y[index] ?? null,
      low: line.low?.[index],
      high: line.high?.[index],
    })),
  );
}
