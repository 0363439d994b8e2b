/**
 * `MembersHealth` is the table of what the trainer says of each member: how old its policy is when
 * it learns, and how many of its updates were not taken.
 */
import type { Schemas } from "../../api/client";
import { count, decimal } from "../../format";
import { FoldedTable } from "../../ui/FoldedTable";
import type { Column } from "../../ui/table";
import { Value } from "../../ui/value";

export type MemberStatus = Schemas["MemberStatus"];

const FIRST = 10;

const COLUMNS: readonly Column<MemberStatus>[] = [
  { name: "member", value: (row) => row.name },
  {
    name: "state",
    value: (row) => row.state,
    show: (row) => (
      <div>
        {row.state}
        {row.failure && <p class="wrong">{row.failure}</p>}
      </div>
    ),
  },
  {
    name: "frames",
    value: (row) => row.frames,
    show: (row) => <span class="number">{count(row.frames)}</span>,
    numeric: true,
  },
  {
    name: "policy lag",
    value: (row) => row.lag,
    show: (row) => <Value of={row.lag} format={decimal} why="no update yet" />,
    numeric: true,
  },
  {
    name: "updates",
    value: (row) => row.updates,
    show: (row) => <span class="number">{row.updates.toLocaleString()}</span>,
    numeric: true,
  },
  {
    name: "updates refused",
    value: (row) => row.refused_updates,
    show: (row) => <span class="number">{row.refused_updates.toLocaleString()}</span>,
    numeric: true,
  },
];

/** Shows all members; of many, those that refused the most stand first and the others fold. */
export function MembersHealth({ of }: { of: readonly MemberStatus[] }) {
  const rows = [...of].sort((a, b) => b.refused_updates - a.refused_updates);
  return (
    <FoldedTable
      label="Members"
      what="members"
      first={FIRST}
      columns={COLUMNS}
      rows={rows}
      id={(row) => row.name}
      cards
    />
  );
}
