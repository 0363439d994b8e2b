/** `upload` sends a form with files and tells how far it is, which `fetch` does not. */
import { ROOT } from "../root";
import { problemOf, ServiceProblem } from "./client";
import { session } from "./session";

/**
 * told: called with the bytes that are sent and all there are; the answer comes some time after all
 * are sent.
 * Throws a `ServiceProblem`; one of status 0 where the connection ended, or the signal aborted it.
 */
export function upload(
  path: string,
  form: FormData,
  told: (sent: number, all: number) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    const broken = () =>
      failed(
        signal.aborted
          ? new ServiceProblem(0, "The upload was cancelled", "Nothing of it was kept.")
          : new ServiceProblem(
              0,
              "The upload was broken off",
              "The service may have stopped, or refused it before it had all of it.",
            ),
      );
    request.upload.onprogress = (event) => told(event.loaded, event.total);
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) return done();
      if (request.status === 401) session.value = "none";
      void problemOf(new Response(request.responseText, { status: request.status })).then(failed);
    };
    request.onerror = request.onabort = broken;
    signal.addEventListener("abort", () => request.abort());
    request.open("POST", ROOT + path);
    request.send(form);
  });
}
