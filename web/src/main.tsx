import { render } from "preact";
import { logIn } from "./api/session";
import { App } from "./app";
import { followLinks, go, parts, to } from "./router";
import "./style/tokens.css";
import "./style/page.css";
import "./style/controls.css";
import "./style/value.css";
import "./style/state.css";
import "./style/table.css";
import "./style/chart.css";
import "./style/bars.css";
import "./style/board.css";

// First of all, since it takes the code out of the address.
void logIn();
document.addEventListener("click", followLinks);
if (parts.value.length === 0) go(to(["populations"]), { replace: true });
render(<App />, document.getElementById("app")!);
