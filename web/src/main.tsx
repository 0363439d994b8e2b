/** The entry point logs the browser in, follows links and draws the dashboard. */
import { render } from "preact";
import { logIn } from "./api/session";
import { App } from "./app";
import { followLinks, go, parts, to } from "./address";
import "./style/tokens.css";
import "./style/page.css";
import "./style/controls.css";
import "./style/value.css";
import "./style/state.css";
import "./style/table.css";
import "./style/chart.css";
import "./style/bars.css";
import "./style/board.css";
import "./style/verdict.css";

// The login comes first, since it takes the one-time code out of the address.
void logIn();
document.addEventListener("click", followLinks);
if (parts.value.length === 0) go(to(["populations"]), { replace: true });
render(<App />, document.getElementById("app")!);
