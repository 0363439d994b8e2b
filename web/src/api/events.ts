/**
 * What happens in the service, as it happens. One stream per browser: of all visible tabs the one that holds a lock reads, and tells the others.
 * Where the page has no locks (plain HTTP from another machine) every visible tab reads for itself. Hidden tabs read nothing and look anew when shown.
 */
import { signal } from "@preact/signals";

export interface Told {
  id: number;
  topic: (typeof TOPICS)[number];
  population: string | null;
}

type Message = { kind: "event"; event: Told } | { kind: "alive" };

const TOPICS = ["population", "operation", "training", "evaluation", "resync"] as const;
const LOCK = "pbt-arena events";
const BEAT_MS = 1000;
const LOST_AFTER_MS = 4000;
const RETRY_MS = 1000;

/** Whether events arrive, here or by way of another tab. */
export const connected = signal(false);
/** When the service was last heard, by a stream or an answer: milliseconds since 1970. */
export const heardAt = signal(0);

const listeners = new Set<(event: Told) => void>();
let newest = 0;
let aliveAt = 0;

/** Call `listener` for each event, once, in order; "resync" also stands for everything that may have been missed. */
export function onEvent(listener: (event: Told) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function heard(): void {
  heardAt.value = Date.now();
}

/** Begin; called once, when the browser is logged in. Returns what ends it. */
export function follow(): () => void {
  const channel = new BroadcastChannel(LOCK);
  let end = () => {};
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    alive();
    if (data.kind === "event") take(data.event);
  };
  const timer = setInterval(() => {
    if (Date.now() - aliveAt > LOST_AFTER_MS) connected.value = false;
  }, BEAT_MS);
  const shown = () => {
    end();
    end = document.hidden ? () => {} : read(channel);
  };
  document.addEventListener("visibilitychange", shown);
  shown();
  return () => {
    document.removeEventListener("visibilitychange", shown);
    clearInterval(timer);
    end();
    channel.close();
    connected.value = false;
  };
}

/** Read when it is this tab's turn. Returns what gives the turn up. */
function read(channel: BroadcastChannel): () => void {
  const over = new AbortController();
  // What happened while nothing was read is asked for anew.
  tell({ id: newest, topic: "resync", population: null });
  if (navigator.locks) {
    navigator.locks
      .request(LOCK, { signal: over.signal }, () => stream(channel, over.signal))
      .catch(() => {});
  } else {
    void stream(channel, over.signal);
  }
  return () => over.abort();
}

function stream(channel: BroadcastChannel, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const open = () => {
      source = new EventSource(newest ? `/v1/events?after=${newest}` : "/v1/events");
      source.onopen = () => {
        alive();
        tell({ id: newest, topic: "resync", population: null });
      };
      source.onerror = () => {
        connected.value = false;
        // A browser tries again by itself after a lost connection, but not after a refusal.
        if (source.readyState === EventSource.CLOSED) retry = setTimeout(open, RETRY_MS);
      };
      for (const topic of TOPICS) source.addEventListener(topic, (event) => arrived(topic, event));
    };
    const arrived = (topic: Told["topic"], event: MessageEvent<string>) => {
      const said = JSON.parse(event.data) as { population?: string | null };
      const told = { id: Number(event.lastEventId), topic, population: said.population ?? null };
      alive();
      channel.postMessage({ kind: "event", event: told } satisfies Message);
      take(told);
    };
    const beat = setInterval(() => {
      if (source.readyState !== EventSource.OPEN) return;
      alive();
      channel.postMessage({ kind: "alive" } satisfies Message);
    }, BEAT_MS);
    open();
    over.addEventListener("abort", () => {
      clearInterval(beat);
      clearTimeout(retry);
      source.close();
      resolve();
    });
  });
}

function alive(): void {
  aliveAt = Date.now();
  connected.value = true;
  heard();
}

function take(event: Told): void {
  if (event.topic === "resync") newest = event.id;
  else if (event.id <= newest) return;
  newest = event.id;
  tell(event);
}

function tell(event: Told): void {
  for (const listener of [...listeners]) listener(event);
}
