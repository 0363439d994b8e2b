/**
 * `System` is the page of the machine and the service: whether all is well, what runs, what room is
 * left.
 */
import type { Got } from "../api/client";
import { OFTEN_MS, useGet } from "../api/useGet";
import { bytes, decimal, duration, percent } from "../format";
import { Processes } from "../ui/Processes";
import { Shown } from "../ui/state";
import { Table } from "../ui/table";
import { Fact } from "../ui/value";
import { Warnings } from "../ui/Warnings";

type Body = Got<"/v1/system">;

export function System() {
  const found = useGet("/v1/system", {}, { everyMs: 2 * OFTEN_MS });
  return (
    <>
      <h1>System</h1>
      <Shown query={found} what="the system">
        {(body) => (
          <>
            {body.problems.length ? (
              <Warnings of={body.problems} />
            ) : (
              <p class="good">The service is ready: the league takes rows, the disk has room.</p>
            )}
            <Facts of={body} />
            <h2>Processes of trainings</h2>
            <Processes of={body.processes} mixed name="processes" />
            <h2>Versions</h2>
            <Table
              label="Versions"
              columns={[
                { name: "of", value: ([name]: [string, string]) => name },
                { name: "version", value: ([, version]: [string, string]) => version },
              ]}
              rows={Object.entries(body.versions)}
            />
          </>
        )}
      </Shown>
    </>
  );
}

const OF_DISK: Record<Body["disk"]["state"], string> = {
  ok: "room enough",
  soft: "little room: nothing new starts",
  hard: "no room: trainings have saved and wait, nothing is changed",
};

function Facts({ of: { disk, machine, populations, ...service } }: { of: Body }) {
  const running = populations["running"] ?? 0;
  return (
    <dl class="facts">
      <Fact name="service up for">
        {duration(Date.now() / 1000 - service.started_at)} <small>process {service.pid}</small>
      </Fact>
      <Fact name="populations running">
        {running} <small>of {service.max_running} at most</small>
      </Fact>
      <Fact name="free on disk">
        {bytes(disk.free_bytes)}{" "}
        <small>
          of {bytes(disk.total_bytes)}, {OF_DISK[disk.state]}
        </small>
      </Fact>
      <Fact name="league">
        {bytes(disk.league_bytes)} <small>and {bytes(disk.log_bytes)} of write-ahead log</small>
      </Fact>
      <Fact name="memory free">
        {bytes(machine.available_bytes)} <small>of {bytes(machine.memory_bytes)}</small>
      </Fact>
      <Fact name="memory of the service">{bytes(service.memory_bytes)}</Fact>
      <Fact name="load">
        {decimal(machine.load)}{" "}
        <small>
          on {machine.cores} cores ({percent(machine.load / machine.cores, 0)})
        </small>
      </Fact>
    </dl>
  );
}
