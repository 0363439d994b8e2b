/**
 * `ConfigDifference` is a config beside the template that it is nearest to, beside another
 * population of its game, or beside the defaults.
 */
import { type Got, type Schemas } from "../../api/client";
import { useGet } from "../../api/useGet";
import { query, setQuery } from "../../address";
import { Fold } from "../../ui/Fold";
import { Empty, Shown } from "../../ui/state";
import { type Column, Table } from "../../ui/table";

type Answer = Got<"/v1/populations/{name}/config-difference">;
type Other = Schemas["OtherConfig"];
type Row = Schemas["ValueDifferenceBody"];

/** revision: of the population, so that an edit is asked for anew. */
export function ConfigDifference({ name, revision }: { name: string; revision: number }) {
  const beside = query.value.get("beside") ?? undefined;
  const found = useGet(
    "/v1/populations/{name}/config-difference",
    { path: { name }, query: { beside } },
    { everyMs: 0, population: name, keep: true },
  );
  return (
    <Shown key={revision} query={found} what="the differences">
      {(answer) => <Beside answer={answer} />}
    </Shown>
  );
}

function Beside({ answer }: { answer: Answer }) {
  const { population, beside, choices, differences } = answer;
  const columns = columnsOf(population, beside);
  const chosen = differences.filter((one) => !one.decided);
  const decided = differences.filter((one) => one.decided);
  return (
    <>
      <label class="field inline">
        <span>Compared with</span>
        <select
          value={keyOf(beside)}
          onChange={(event) => setQuery({ beside: event.currentTarget.value })}
        >
          {choices.map((one) => (
            <option key={keyOf(one)} value={keyOf(one)}>
              {titleOf(one)}
            </option>
          ))}
        </select>
      </label>
      {chosen.length ? (
        <Table
          label={`Differences from ${titleOf(beside)}`}
          columns={columns}
          rows={chosen}
          id={(one) => one.key}
        />
      ) : (
        <Empty title={`No value was set otherwise than in ${titleOf(beside)}`} />
      )}
      {decided.length > 0 && (
        <Fold summary={`Left open there, and decided when ${population} began: ${decided.length}`}>
          {() => (
            <Table
              label="Decided when it began"
              columns={columns}
              rows={decided}
              id={(one) => one.key}
            />
          )}
        </Fold>
      )}
    </>
  );
}

function columnsOf(population: string, beside: Other): readonly Column<Row>[] {
  const cell = (text: string) => <code>{text}</code>;
  return [
    { name: "key", value: (one) => one.key, show: (one) => cell(one.key) },
    { name: population, value: (one) => one.value, show: (one) => cell(one.value), wide: true },
    {
      name: titleOf(beside),
      value: (one) => one.other,
      show: (one) => cell(one.other),
      wide: true,
    },
  ];
}

function keyOf({ kind, name }: Other): string {
  return kind === "defaults" ? kind : `${kind}:${name}`;
}

function titleOf({ kind, name }: Other): string {
  return kind === "defaults" ? "the defaults" : `${kind} ${name}`;
}
