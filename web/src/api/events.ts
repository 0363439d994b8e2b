/**
 * This file reads the stream of events of the service. A browser has one stream: of all visible
 * tabs the one that holds a lock reads it and tells the others. Where the page has no locks (plain
 * HTTP from another machine) every visible tab reads for itself. Hidden tabs read nothing, and ask
 * for everything anew when they are shown.
 */
import { signal } from "@preact/signals";
import { ROOT } from "../root";
import type { Schemas } from "./client";
import { askAgain } from "./session";

/** An event: something of this topic changed, in one population or, with null, in all. */
export interface ServiceEvent {
  id: number;
  topic: Schemas["StreamedEvent"]["topic"];
  population: string | null;
}

type Message = { kind: "event"; event: ServiceEvent } | { kind: "alive" };

const TOPICS = ["population", "operation", "training", "evaluation", "job", "resync"] as const;
/** Services below different paths of one site have streams of their own. */
const LOCK = `pbt-arena events${ROOT}`;
const EVENTS = `${ROOT}/v1/events`;
const BEAT_MS = 1000;
const LOST_AFTER_MS = 4000;
const RETRY_MS = 1000;

/** Whether events arrive, in this tab or by way of another one. */
export const connected = signal(false);
/** When the service was last reached, by an open stream or an answer: milliseconds since 1970. */
export const heardAt = signal(0);

const listeners = new Set<(event: ServiceEvent) => void>();
let newest = 0;
let aliveAt = 0;

/**
 * Calls `listener` once for each event, in order. A "resync" stands for everything that may have
 * been missed. Returns a function that ends this.
 */
export function onEvent(listener: (event: ServiceEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Notes that the service has just answered. */
export function heard(): void {
  heardAt.value = Date.now();
}

/** Begins to read; called once, when the browser is logged in. Returns a function that ends it. */
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

/** Reads the stream when it is the turn of this tab. Returns a function that gives the turn up. */
function read(channel: BroadcastChannel): () => void {
  const over = new AbortController();
  // What happened while no tab read is asked for anew.
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
      source = new EventSource(newest ? `${EVENTS}?after=${newest}` : EVENTS);
      source.onopen = () => {
        alive();
        tell({ id: newest, topic: "resync", population: null });
      };
      source.onerror = () => {
        connected.value = false;
        // A browser tries again by itself after a lost connection, but not after a refusal.
        if (source.readyState !== EventSource.CLOSED) return;
        void askAgain();
        retry = setTimeout(open, RETRY_MS);
      };
      for (const topic of TOPICS) source.addEventListener(topic, (event) => arrived(topic, event));
    };
    const arrived = (topic: ServiceEvent["topic"], event: MessageEvent<string>) => {
      const told: Schemas["StreamedEvent"] = JSON.parse(event.data);
      const population = told.topic === "resync" ? null : told.population;
      const message = { id: Number(event.lastEventId), topic, population };
      alive();
      channel.postMessage({ kind: "event", event: message } satisfies Message);
      take(message);
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

function take(event: ServiceEvent): void {
  if (event.topic === "resync") newest = event.id;
  else if (event.id <= newest) return;
  newest = event.id;
  tell(event);
}

function tell(event: ServiceEvent): void {
  for (const listener of [...listeners]) listener(event);
}
