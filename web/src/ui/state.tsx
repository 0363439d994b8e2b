/** The states of something that was asked of the service: loading, failed, empty, shown. */
import type { ComponentChildren } from "preact";
import type { ServiceProblem } from "../api/client";

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

interface Asked {
  value: unknown;
  problem: ServiceProblem | null;
}

/** Why something is not there: it has not come yet, it cannot be had, or, where the answer is there, the reason itself. */
export function whyNot({ value, problem }: Asked, reason: string): string {
  if (value !== undefined) return reason;
  return problem ? problem.title : "it is being loaded";
}

/** What a query gave, or why it did not. A newer failure stands above the old value; that the service is away, the badge says once for all. */
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
