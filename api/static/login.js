// The code or token stands behind "#": a browser sends it to no server, and no log or referrer ever holds it.
const behind = new URLSearchParams(location.hash.slice(1));
const given = ["code", "token"].find((name) => behind.get(name));
// Beside this file, also below a root path.
const session = new URL("v1/session", document.currentScript.src);
const said = document.getElementById("said");
if (given) {
  history.replaceState(null, "", location.pathname);
  fetch(session, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ [given]: behind.get(given) }),
  })
    .then((answer) => {
      said.textContent = answer.ok ? "You are logged in." : `This ${given} is wrong or no longer good.`;
    })
    .catch(() => {
      said.textContent = "The service does not answer.";
    });
}
