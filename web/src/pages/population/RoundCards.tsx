/**
 * `RoundCards` shows what PBT did, a card for each round: how members were compared, which copied
 * which and why, what mutated, and which members stayed.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useGet } from "../../api/useGet";
import { count } from "../../format";
import { Fold } from "../../ui/Fold";
import { narrow } from "../../ui/screen";
import { Shown } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import type { RoundNumbers } from "./history";
import {
  byDeed,
  changeText,
  leadText,
  type MemberRound,
  RANKED_BY,
  type RoundCardBody,
  whyText,
  worthText,
} from "./roundWords";

/** So many of the newest rounds stand on the page; older ones are folded. The newest is open. */
const NEWEST = 3;
/** Of longer lists of members only the first stand on the page. */
const FIRST = 5;

export function RoundCards({
  population,
  rounds,
}: {
  population: string;
  rounds: readonly RoundNumbers[];
}) {
  const cards = (some: readonly RoundNumbers[]) =>
    some.map((one) => (
      <RoundCard
        key={one.round}
        population={population}
        of={one}
        begin={one === rounds[0] && !narrow.peek()}
      />
    ));
  return (
    <>
      {cards(rounds.slice(0, NEWEST))}
      {rounds.length > NEWEST && (
        <Fold summary={`${rounds.length - NEWEST} earlier rounds`}>
          {() => cards(rounds.slice(NEWEST))}
        </Fold>
      )}
    </>
  );
}

function RoundCard({
  population,
  of,
  begin,
}: {
  population: string;
  of: RoundNumbers;
  begin: boolean;
}) {
  const [open, setOpen] = useState(begin);
  const still = of.members - of.copies - of.mutated;
  const ends = new Set([count(of.first), count(of.last)]);
  return (
    <details class="round" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b>Round {of.round}</b> at {[...ends].join(" to ")} frames: {of.copies} copied, {of.mutated}{" "}
        mutated, {still} stayed as they were
      </summary>
      {open && <Content population={population} round={of} />}
    </details>
  );
}

function Content({ population, round }: { population: string; round: RoundNumbers }) {
  const found = useGet(
    "/v1/populations/{name}/rounds/{number}",
    { path: { name: population, number: String(round.round) } },
    { everyMs: 0, population },
  );
  return (
    <Shown query={found} what={`round ${round.round}`}>
      {(card) => <Card of={card} />}
    </Shown>
  );
}

function Card({ of }: { of: RoundCardBody }) {
  const { copied, mutated, kept, unchanged, unranked } = byDeed(of);
  return (
    <>
      <h4>Copied</h4>
      {copied.length === 0 && <p class="note">None. {nearest(of)}</p>}
      <Some of={copied}>{(one) => <Copied of={one} card={of} />}</Some>
      {mutated.length > 0 && <h4>Mutated</h4>}
      <Some of={mutated}>
        {(one) => (
          <>
            <b>{one.member}</b> <Changes of={one} />
          </>
        )}
      </Some>
      <h4>Stayed as they were</h4>
      <Names of={kept} why="among the top, which keep everything" />
      <Names of={unchanged} why="they might have mutated, and chance changed no value" />
      <Names of={unranked} why="they had too few games to be compared" />
      <Fold summary={`All ${of.members.length}, as they were compared`}>
        {() => (
          <Table
            label={`Round ${of.round}`}
            columns={compared(of)}
            rows={of.members}
            id={(row) => row.member}
          />
        )}
      </Fold>
    </>
  );
}

/** Shows a list of members; of a long one the first, and the others behind a fold. */
function Some({
  of,
  children,
}: {
  of: readonly MemberRound[];
  children: (one: MemberRound) => ComponentChildren;
}) {
  const items = (some: readonly MemberRound[]) => (
    <ul class="deeds">
      {some.map((one) => (
        <li key={one.member}>{children(one)}</li>
      ))}
    </ul>
  );
  return (
    <>
      {of.length > 0 && items(of.slice(0, FIRST))}
      {of.length > FIRST && (
        <Fold summary={`${of.length - FIRST} more`}>{() => items(of.slice(FIRST))}</Fold>
      )}
    </>
  );
}

function Copied({ of, card: { counts } }: { of: MemberRound; card: RoundCardBody }) {
  const { objective, lead } = of;
  return (
    <>
      <b>
        {of.member} copied {of.copied_from}
      </b>
      :{" "}
      {objective !== null &&
        lead &&
        `${RANKED_BY[counts]} ${worthText(objective, counts)} against ` +
          `${worthText(lead.objective, counts)}; `}
      {whyText(of, counts)}. <Changes of={of} />
    </>
  );
}

function Changes({ of }: { of: MemberRound }) {
  return (
    <span class="changes">
      {of.changes.map((change) => (
        <span key={change.name} class="number">
          {change.name} {changeText(change)}
        </span>
      ))}
    </span>
  );
}

function Names({ of, why }: { of: readonly MemberRound[]; why: string }) {
  return of.length ? (
    <p>
      {of.map((one) => one.member).join(", ")} <span class="note">({why})</span>
    </p>
  ) : null;
}

/** Says why none copied: which member was nearest to it, or what kept one from it. */
function nearest({ members, counts }: RoundCardBody): string {
  const judged = members.filter((one) => one.lead !== null && one.lead.p !== null);
  const [first] = judged.sort(
    (a, b) => a.lead!.p! / (a.lead!.level || 1) - b.lead!.p! / (b.lead!.level || 1),
  );
  if (first) return `Nearest to it was ${first.member}: ${whyText(first, counts)}.`;
  const other = members.find(({ did }) => did === "unchanged" || did === "mutated");
  return other ? `${other.member}: ${other.reason}.` : "";
}

function compared({ counts, members }: RoundCardBody): readonly Column<MemberRound>[] {
  const roles = new Set(members.map(({ role }) => role)).size > 1;
  const role: Column<MemberRound> = { name: "role", value: (row) => row.role };
  return [
    ...(roles ? [role] : []),
    { name: "rank", value: (row) => row.rank, numeric: true, why: "too few games" },
    { name: "member", value: (row) => row.member },
    {
      name: RANKED_BY[counts],
      value: (row) => row.objective,
      ...numbers(
        (row) => row.objective,
        (value) => worthText(value, counts),
      ),
    },
    {
      name: "ahead of the others",
      value: (row) => row.on_common,
      ...numbers(
        (row) => row.on_common,
        (value) => leadText(value, counts),
      ),
    },
    { name: "games", value: (row) => row.games, numeric: true, why: "its verdict does not say" },
    { name: "did", value: (row) => row.did },
    { name: "why", value: (row) => row.reason, show: (row) => whyText(row, counts), wide: true },
  ];
}

function numbers(
  value: (row: MemberRound) => number | null,
  format: (value: number) => string,
): Pick<Column<MemberRound>, "show" | "numeric"> {
  return {
    numeric: true,
    show: (row) => {
      const found = value(row);
      return found === null ? "–" : <span class="number">{format(found)}</span>;
    },
  };
}
