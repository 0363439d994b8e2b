/** `useSpeed` measures how fast a training goes on while the page is open. */
import { useRef } from "preact/hooks";

const OVER_MS = 10_000;

/**
 * Returns frames per second over the last seconds that this page saw; null before there are two
 * different counts.
 */
export function useSpeed(frames: number, running: boolean): number | null {
  const counts = useRef<{ at: number; frames: number }[]>([]);
  if (!running) {
    counts.current = [];
    return null;
  }
  const now = Date.now();
  if (counts.current.at(-1)?.frames !== frames) counts.current.push({ at: now, frames });
  counts.current = counts.current.filter((one) => now - one.at <= OVER_MS);
  const [first, last] = [counts.current[0], counts.current.at(-1)];
  return first && last && last.at > first.at
    ? (1000 * (last.frames - first.frames)) / (last.at - first.at)
    : null;
}
