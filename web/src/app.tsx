/**
 * The app draws the frame around every view: sections, the age of what is shown, the session; and
 * it chooses the view for an address. A new view is a file in `pages/` and a line of `view` here.
 */
import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChild, ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { connected, follow, heardAt } from "./api/events";
import { logInWith, logOut, refusal, session } from "./api/session";
import { duration } from "./format";
import { Compare } from "./pages/compare/Compare";
import { Game } from "./pages/Game";
import { Imports } from "./pages/Imports";
import { League } from "./pages/League";
import { Match } from "./pages/Match";
import { Matches } from "./pages/Matches";
import { MatchRequest } from "./pages/MatchRequest";
import { NewPopulation } from "./pages/NewPopulation";
import { Play } from "./pages/Play";
import { Policy } from "./pages/Policy";
import { Population } from "./pages/population/Population";
import { Populations } from "./pages/Populations";
import { SitDown } from "./pages/SitDown";
import { System } from "./pages/System";
import { parts, to } from "./address";
import { Field } from "./ui/Field";
import { Empty, Loading } from "./ui/state";
import { useCurrentSeen } from "./ui/tabs";

const SECTIONS = [
  ["populations", "Populations"],
  ["league", "League"],
  ["matches", "Matches"],
  ["play", "Play"],
  ["compare", "Compare"],
  ["system", "System"],
] as const;

export function App() {
  const level = session.value;
  const known = level === "viewer" || level === "admin";
  useEffect(() => (known ? follow() : undefined), [known]);
  const bar = useRef<HTMLElement>(null);
  useCurrentSeen(bar, parts.value[0]);
  const title = parts.value.join(" · ");
  const announced = useArrival(title);
  return (
    <>
      <a class="skip" href="#view">
        Skip to the content
      </a>
      <header>
        <a class="brand" href={to(["populations"])}>
          pbt-arena
        </a>
        <nav ref={bar} aria-label="Sections">
          {SECTIONS.map(([name, title]) => (
            <a
              key={name}
              href={to([name])}
              aria-current={sectionOf(parts.value[0]) === name ? "page" : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
        {known && (
          <div class="session">
            <Badge />
            <span class="level">{level}</span>
            <button class="quiet" onClick={() => void logOut()}>
              Log out
            </button>
          </div>
        )}
      </header>
      <main id="view" tabIndex={-1}>
        <Guarded address={title}>
          {known ? (
            view(parts.value)
          ) : level === "none" ? (
            <LoggedOut />
          ) : (
            <Loading what="the session" />
          )}
        </Guarded>
      </main>
      <p class="unseen" aria-live="polite">
        {announced}
      </p>
    </>
  );
}

/**
 * Sets the title of the window. A change of view is announced, and the keyboard focus goes into the
 * new view. Tabs keep the focus, since they are still there.
 */
function useArrival(title: string): string {
  const [announced, setAnnounced] = useState("");
  const before = useRef(title);
  useEffect(() => {
    document.title = title ? `${title} · pbt-arena` : "pbt-arena";
    if (before.current === title) return;
    before.current = title;
    setAnnounced(title);
    const focused = document.activeElement;
    if (!focused?.isConnected || !focused.closest(".tabs"))
      document.getElementById("view")?.focus({ preventScroll: true });
  }, [title]);
  return announced;
}

/**
 * Shows an error in place of a view that cannot be drawn. The frame stays, and another address is
 * tried anew.
 */
function Guarded({ address, children }: { address: string; children: ComponentChildren }) {
  const [error, again] = useErrorBoundary((error: unknown) =>
    console.error("a view failed:", error),
  );
  useEffect(() => {
    if (error) again();
  }, [address]);
  if (!error) return <>{children}</>;
  return (
    <div class="state failed" role="alert">
      <p class="state-title">This view cannot be shown</p>
      <p>{String(error)}</p>
      <button onClick={again}>Try again</button>
    </div>
  );
}

function sectionOf(part: string | undefined): string | undefined {
  return part === "evaluations" || part === "games" ? "matches" : part;
}

/** Chooses the view for the parts of an address. */
function view([section, name, more, item]: readonly string[]): ComponentChild {
  if (section === "populations" && name === undefined) return <Populations />;
  if (section === "populations" && name === "new" && more === "population")
    return <NewPopulation />;
  if (section === "populations" && name === "new" && more === "import") return <Imports />;
  if (section === "populations" && more === "policies" && item)
    return <Policy key={`${name} ${item}`} population={name!} player={item} />;
  if (section === "populations")
    return <Population key={name} name={name!} tab={more ?? "overview"} />;
  if (section === "league") return <League />;
  if (section === "matches" && name === undefined) return <Matches />;
  if (section === "matches") return <Match key={name} id={name!} />;
  if (section === "evaluations" && name) return <MatchRequest key={name} id={name} />;
  if (section === "games" && name) return <Game key={name} id={name} />;
  if (section === "play") return name ? <Play key={name} id={name} /> : <SitDown />;
  if (section === "compare") return <Compare />;
  if (section === "system") return <System />;
  return (
    <Empty title="There is no such page">
      <p>
        <a href={to(["populations"])}>Populations</a> is where everything begins.
      </p>
    </Empty>
  );
}

/** Says how to log in; takes a token. */
function LoggedOut() {
  const [token, setToken] = useState("");
  const [sending, setSending] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    if (!(await logInWith(token.trim()))) setSending(false);
  };
  return (
    <Empty title="You are not logged in">
      {refusal.value && <p role="alert">{refusal.value}</p>}
      <p>
        Run <code>arena open</code> on the machine of the service: it makes a link that logs this
        browser in, once.
      </p>
      <form aria-label="Login" method="post" onSubmit={(event) => void send(event)}>
        <Field title="Token" note="Or paste a token: arena token create makes one." wrong={[]}>
          {(described) => (
            <input
              {...described}
              type="password"
              autocomplete="off"
              spellcheck={false}
              maxLength={500}
              required
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          )}
        </Field>
        <button class="primary" disabled={sending}>
          Log in
        </button>
      </form>
    </Empty>
  );
}

/** Shows "connected" while events arrive, else the age of what is shown. */
function Badge() {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  const age = useComputed(() => Math.max(0, (now.value - heardAt.value) / 1000));
  if (connected.value) return <span class="badge live">connected</span>;
  return (
    <span class="badge stale" role="status">
      {heardAt.value ? `stale ${duration(age.value)}` : "connecting"}
    </span>
  );
}
