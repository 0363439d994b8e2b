/**
 * These components show the state of a question to the service: loading, failed, empty, answered.
 */
import type { ComponentChildren } from "preact";
import type { ServiceProblem } from "../api/client";

/** Says that there is nothing to show, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div class="state loading" role="status">
      <p>Loading {what} …</p>
    </div>
  );
}

export function Failed({ problem, again }: { problem: ServiceProblem; again?: () => void }) {
  return (
    <div class="state failed" role="alert">
      <p class="state-title">{problem.title}</p>
      {problem.detail && <p>{problem.detail}</p>}
      {again && <button onClick={again}>Try again</button>}
    </div>
  );
}

/** The part of a query that says whether it was answered. */
interface Asked {
  value: unknown;
  problem: ServiceProblem | null;
}

/**
 * Says why a value is missing: the answer has not come yet, it cannot be had, or, where the answer
 * is there, the given reason.
 */
export function whyNot({ value, problem }: Asked, reason: string): string {
  if (value !== undefined) return reason;
  return problem ? problem.title : "it is being loaded";
}

/**
 * Shows the answer of a query, or why there is none. A newer failure stands above the old answer.
 * When the service does not answer at all, the badge of the page says so instead.
 */
export function Shown<T>({
  query,
  what,
  children,
}: {
  query: { value: T | undefined; problem: ServiceProblem | null; again: () => void };
  what: string;
  children: (value: T) => ComponentChildren;
}) {
  if (query.value === undefined)
    return query.problem ? (
      <Failed problem={query.problem} again={query.again} />
    ) : (
      <Loading what={what} />
    );
  return (
    <>
      {query.problem && query.problem.status !== 0 && (
        <Failed problem={query.problem} again={query.again} />
      )}
      {children(query.value)}
    </>
  );
}
