/** This file orders the list of populations and reads what is sought in it. All of it is pure. */
import type { Got } from "./api/client";
import { conclusionOf, type Level } from "./assessment";

type Population = Got<"/v1/populations">["items"][number];

interface Order {
  title: string;
  /** The order that the service is asked for; a page of it is put into the other orders here. */
  sort: "created" | "-created" | "name";
}

/** Orders of the list, by their name in the address. */
export const LIST_ORDERS = {
  newest: { title: "newest", sort: "-created" },
  oldest: { title: "oldest", sort: "created" },
  name: { title: "name", sort: "name" },
  trouble: { title: "what needs a look", sort: "-created" },
  running: { title: "what trains now", sort: "-created" },
  left: { title: "time left", sort: "-created" },
} as const satisfies Record<string, Order>;
export type ListOrder = keyof typeof LIST_ORDERS;

/** Returns the part of a name that the service can look for: names have no other signs. */
export function sought(words: string): string {
  return words.toLowerCase().replaceAll(/[^a-z0-9_-]/g, "");
}

const LEVELS: readonly Level[] = ["bad", "warn", "info", "good"];

/** Returns how urgent a population is: 0 is the most. */
function trouble({ status, summary: { conclusion, flat_since } }: Population): number {
  if (status.state === "failed" || status.state === "interrupted") return 0;
  if (conclusion === null) return LEVELS.length;
  return LEVELS.indexOf(conclusionOf(conclusion, status.state, flat_since).level);
}

const TRAINS: ReadonlySet<string> = new Set(["running", "starting", "recovering", "queued"]);

/** Returns the populations of a page in an order; within equals the service's order stays. */
export function listed(items: readonly Population[], order: ListOrder): Population[] {
  const places: Record<ListOrder, (one: Population) => number> = {
    newest: () => 0,
    oldest: () => 0,
    name: () => 0,
    trouble,
    running: ({ status }) => (TRAINS.has(status.state) ? 0 : 1),
    left: ({ summary }) => summary.seconds_left ?? Number.MAX_VALUE,
  };
  return [...items].sort((a, b) => places[order](a) - places[order](b));
}
