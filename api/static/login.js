// The code stands behind "#": a browser sends it to nobody, and no log or referrer ever holds it.
const code = new URLSearchParams(location.hash.slice(1)).get("code");
// Beside this file, also below a root path.
const session = new URL("v1/session", document.currentScript.src);
const said = document.getElementById("said");
if (code) {
  history.replaceState(null, "", location.pathname);
  fetch(session, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  })
    .then((answer) => {
      said.textContent = answer.ok ? "You are logged in." : "This code is wrong, used or old. Run `arena open` for a new one.";
    })
    .catch(() => {
      said.textContent = "The service does not answer.";
    });
}
