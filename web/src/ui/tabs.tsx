/** `Tabs` is a row of links to the views of one thing, and keeps the current one in sight. */
import { useEffect, useRef } from "preact/hooks";

/** Shows links to the views of one thing; each has an address. */
export function Tabs({
  label,
  tabs,
  now,
}: {
  label: string;
  tabs: readonly { name: string; href: string; title: string }[];
  now: string;
}) {
  const bar = useRef<HTMLElement>(null);
  useCurrentSeen(bar, now);
  return (
    <nav ref={bar} class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.name} href={tab.href} aria-current={tab.name === now ? "page" : undefined}>
          {tab.title}
        </a>
      ))}
    </nav>
  );
}

/** Scrolls a row of links sideways, on a narrow screen, until the current one is seen. */
export function useCurrentSeen(bar: { current: HTMLElement | null }, now: unknown): void {
  useEffect(() => {
    const current = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current && current)
      bar.current.scrollLeft =
        current.offsetLeft -
        bar.current.offsetLeft -
        (bar.current.clientWidth - current.offsetWidth) / 2;
  }, [now]);
}
