/** `useSending` sends a change to the service, from a form or a button. */
import { useState } from "preact/hooks";
import { ServiceProblem } from "../api/client";

export interface Sending {
  busy: boolean;
  /**
   * The problem of the last change; null where it went well, and while the next one is on its way.
   */
  problem: ServiceProblem | null;
  /** Sends a change and returns whether it went well. */
  send: (ask: () => Promise<unknown>) => Promise<boolean>;
}

export function useSending(): Sending {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ServiceProblem | null>(null);
  const send = async (ask: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(null);
    try {
      await ask();
      return true;
    } catch (error) {
      if (!(error instanceof ServiceProblem)) throw error;
      setProblem(error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, send };
}
