/**
 * `Config` is the tab with the config of a population beside its template, and the forms that edit
 * it: its values, and its members.
 */
import type { Got } from "../../api/client";
import { session } from "../../api/session";
import { saveFile } from "../../ui/Downloads";
import { Fold } from "../../ui/Fold";
import { ConfigDifference } from "./ConfigDifference";
import { Edits } from "./Edits";
import { Membership } from "./Membership";

type Body = Got<"/v1/populations/{name}">;

export function Config({ body, again }: { body: Body; again: () => void }) {
  const text = JSON.stringify(body.spec.config ?? {}, null, 2);
  return (
    <>
      {body.spec.pending_edits.length > 0 && (
        <p class="note">Not in force yet: {body.spec.pending_edits.join(", ")}</p>
      )}
      {session.value === "admin" && body.status.state !== "deleting" && (
        <>
          <h2>Edit</h2>
          <Edits body={body} done={again} />
          <h2>Members</h2>
          <Membership body={body} done={again} />
        </>
      )}
      <h2>What it sets</h2>
      <ConfigDifference name={body.id} revision={body.revision} />
      <Fold summary="The whole config, as JSON">
        {() => (
          <>
            <div class="downloads">
              <button onClick={() => saveFile(`${body.id}.json`, text, "application/json")}>
                JSON
              </button>
            </div>
            <pre tabIndex={0}>{text}</pre>
          </>
        )}
      </Fold>
    </>
  );
}
