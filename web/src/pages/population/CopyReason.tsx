/** `CopyReason` says why a member copied another one, and what changed by it. */
import { useEffect, useRef } from "preact/hooks";
import { useGet } from "../../api/useGet";
import { count } from "../../format";
import { Shown } from "../../ui/state";
import { type Column, Table } from "../../ui/table";
import { Fact, Value } from "../../ui/value";
import type { Copy } from "./history";
import {
  aheadText,
  chance,
  type MemberRound,
  RANKED_BY,
  commonText,
  type RoundCardBody,
  whyText,
  worthText,
} from "./roundWords";

type Change = MemberRound["changes"][number];

const CHANGES: readonly Column<Change>[] = [
  { name: "value", value: (row) => row.name },
  { name: "before", value: (row) => row.before, numeric: true },
  { name: "of the copied", value: (row) => row.donor, numeric: true },
  { name: "after", value: (row) => row.after, numeric: true },
];

export function CopyReason({
  population,
  copy,
  close,
}: {
  population: string;
  copy: Copy;
  close: () => void;
}) {
  const found = useGet(
    "/v1/populations/{name}/rounds/{number}",
    { path: { name: population, number: String(copy.round) } },
    { everyMs: 0, population },
  );
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), []);
  const title = `${copy.to} copied ${copy.from}`;
  return (
    <section
      ref={box}
      class="reason"
      aria-label={title}
      tabIndex={-1}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <div class="heading">
        <h3>{title}</h3>
        <button onClick={close}>Close</button>
      </div>
      <p class="note">
        Round {copy.round}, at {count(copy.frames)} frames of {copy.to}; the weights are those of{" "}
        {copy.from} at {count(copy.fromFrames)} frames.
      </p>
      <Shown query={found} what="the reason">
        {(card) => {
          const one = card.members.find((member) => member.member === copy.to);
          return one ? <Reason of={one} card={card} /> : null;
        }}
      </Shown>
    </section>
  );
}

function Reason({ of, card: { counts } }: { of: MemberRound; card: RoundCardBody }) {
  const { lead } = of;
  const worth = (value: number) => worthText(value, counts);
  return (
    <>
      <p>{whyText(of, counts)}.</p>
      <dl class="facts">
        <Fact name={`${RANKED_BY[counts]} of ${of.member}`}>
          <Value of={of.objective} format={worth} why="its verdict does not say" />
          {of.rank !== null && (
            <small>
              rank {of.rank} of {of.ranked}, {of.games} games
            </small>
          )}
        </Fact>
        {lead && (
          <>
            <Fact name={`${RANKED_BY[counts]} of ${lead.member}`}>{worth(lead.objective)}</Fact>
            <Fact name={`${lead.member} was`}>
              {aheadText(lead.ahead, counts)}
              <small>{commonText(lead.opponents, counts)}</small>
            </Fact>
            <Fact name="probability by chance">
              <Value of={lead.p} format={chance} why="no rule asks for it" />
              {lead.level !== null && <small>the round allows {chance(lead.level)}</small>}
            </Fact>
          </>
        )}
      </dl>
      {of.changes.length > 0 ? (
        <Table label="Changed values" columns={CHANGES} rows={of.changes} />
      ) : (
        <p class="note">Its values were the same already.</p>
      )}
      {!lead && <p class="note">{of.verdict}</p>}
    </>
  );
}
