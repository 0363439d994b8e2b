import { useRef } from "preact/hooks";

const OVER_MS = 10_000;

/** Frames per second over the last seconds that this page saw; null before there are two looks. */
export function useSpeed(frames: number, running: boolean): number | null {
  const looks = useRef<{ at: number; frames: number }[]>([]);
  if (!running) {
    looks.current = [];
    return null;
  }
  const now = Date.now();
  if (looks.current.at(-1)?.frames !== frames) looks.current.push({ at: now, frames });
  looks.current = looks.current.filter((look) => now - look.at <= OVER_MS);
  const [first, last] = [looks.current[0], looks.current.at(-1)];
  return first && last && last.at > first.at
    ? (1000 * (last.frames - first.frames)) / (last.at - first.at)
    : null;
}
