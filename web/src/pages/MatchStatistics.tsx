/**
 * `MatchStatistics` shows the numbers of a match of two: first what decides it, the score or the
 * margin, with its interval; then Elo, pairs, seats, games.
 */
import type { Duel, Tally } from "../api/reports";
import { decimal, elo, interval, percent } from "../format";
import { type Decided, headlineOf } from "../strength";
import { Fact, Value } from "../ui/value";

/** first, second: the players' names; the numbers are those of the first one */
export function MatchStatistics({
  of,
  first,
  second,
  verdict,
}: {
  of: Duel;
  first: string;
  second: string;
  verdict: string;
}) {
  const headline = headlineOf(of);
  return (
    <section class="figure" aria-label="Statistics">
      <h2>
        {headline.name} of {first}: <span class="number">{headline.text}</span>{" "}
        <small class="number">
          {headline.interval}
          {(of.margin ?? of).interval === "sequence" && " at any stop"}
        </small>
      </h2>
      {!of.margin && <Bar of={of} first={first} second={second} />}
      <p>{verdict}</p>
      <dl class="facts">
        {of.margin && (
          <Fact name="score">
            {percent(of.score)}{" "}
            <small class="number">{interval(of.low, of.high, percent)}</small>
          </Fact>
        )}
        <Fact name="won – drawn – lost">
          <Won of={of} />
        </Fact>
        <Fact name="Elo">
          <Value of={of.elo} format={elo} why="the score has no finite Elo" />{" "}
          <small class="number">{interval(of.elo_low, of.elo_high, elo)}</small>
        </Fact>
        <Fact name="normalised Elo">
          <Value
            of={of.nelo}
            format={elo}
            why="fewer than 50 pairs, all alike, or a sequential test"
          />{" "}
          <small class="number">{interval(of.nelo_low, of.nelo_high, elo)}</small>
        </Fact>
        <Fact name="likely the stronger">
          <Value of={(of.margin ?? of).los} format={percent} why="a sequential test" />
        </Fact>
        <Fact name="in the first seat">
          <Won of={of.as_first} />
        </Fact>
        <Fact name="in another seat">
          <Won of={of.as_second} />
        </Fact>
        <Fact name="first seat against second">
          <Won of={of.first_against_second} />
        </Fact>
        <Fact name="games that count">
          {of.games} <small>{of.distinct} of them different</small>
        </Fact>
        <Fact name="length of a game">
          {decimal(of.mean_length)} <small>± {decimal(of.length_deviation)} decisions</small>
        </Fact>
        <Fact name="forfeited">
          {of.forfeits} <small>and {of.errors} tries spoiled by the game</small>
        </Fact>
      </dl>
      {of.pair_counts && <Pairs counts={of.pair_counts} first={first} />}
    </section>
  );
}

/** Draws the interval to scale, from 0 to 100 %. */
function Bar({ of, first, second }: { of: Duel; first: string; second: string }) {
  return (
    <>
      <div class="bar" aria-hidden="true">
        <span class="half" />
        <span
          class="interval"
          style={{ left: `${100 * of.low}%`, width: `${100 * (of.high - of.low)}%` }}
        />
        <span class="point" style={{ left: `${100 * of.score}%` }} />
      </div>
      <p class="bar-ends note" aria-hidden="true">
        <span>{second}</span>
        <span>{first}</span>
      </p>
    </>
  );
}

function Won({ of }: { of: Tally }) {
  return (
    <span class="number">
      {of.wins} – {of.draws} – {of.losses}
    </span>
  );
}

const POINTS = ["0", "½", "1", "1½", "2"] as const;

/**
 * Counts the pairs of games by the points of the first player. A pair has one seed, and its games
 * have the seats swapped.
 */
function Pairs({ counts, first }: { counts: readonly number[]; first: string }) {
  const most = Math.max(1, ...counts);
  return (
    <table class="pairs">
      <caption>Pairs by the points of {first}</caption>
      <tbody>
        {counts.map((number, index) => (
          <tr key={index}>
            <th scope="row">{POINTS[index]}</th>
            <td class="right number">{number}</td>
            <td>
              <span class="count" style={{ width: `${(100 * number) / most}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Returns the verdict that follows from the interval of what decides. */
export function verdictOf(of: Decided, first: string, second: string): string {
  const { low, high, even, name } = headlineOf(of);
  if (low !== null && low > even) return `${first} is stronger (95 %).`;
  if (high !== null && high < even) return `${second} is stronger (95 %).`;
  if (low === null && high === null) return "Not decided: the games give no interval.";
  const middle = name === "Score" ? "one half" : "0";
  return `Not decided (95 %): the interval holds ${middle}.`;
}
