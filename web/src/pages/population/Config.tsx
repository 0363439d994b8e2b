/** `Config` is the tab with the config of a population and the form that edits it. */
import type { Got } from "../../api/client";
import { session } from "../../api/session";
import { saveFile } from "../../ui/Downloads";
import { Edits } from "./Edits";

type Body = Got<"/v1/populations/{name}">;

export function Config({ body, again }: { body: Body; again: () => void }) {
  const text = JSON.stringify(body.spec.config ?? {}, null, 2);
  return (
    <>
      {session.value === "admin" && body.status.state !== "deleting" && (
        <>
          <h2>Edit</h2>
          <Edits body={body} done={again} />
        </>
      )}
      <h2>In force</h2>
      {body.spec.pending_edits.length > 0 && (
        <p class="note">Not in force yet: {body.spec.pending_edits.join(", ")}</p>
      )}
      <div class="downloads">
        <button onClick={() => saveFile(`${body.id}.json`, text, "application/json")}>JSON</button>
      </div>
      <pre tabIndex={0}>{text}</pre>
    </>
  );
}
