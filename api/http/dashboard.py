"""The dashboard: a page and its files, built from `web/`.

Everyone may read these files. The data that the page shows needs a session.
"""

import re
from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from api.http.problems import Problem

STATIC = Path(__file__).parents[1] / "static"
BUNDLE = STATIC / "dashboard"
"""What `vite build` wrote: `index.html`, and in `assets/` files whose names carry a hash of
their content.
"""
_ASSET = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+")
_FOREVER = {"cache-control": "public, max-age=31536000, immutable"}


def add_dashboard(app: FastAPI) -> None:
    """Add the routes of the page, without FastAPI's checks of parameters.

    The address of a view says what the view shows; only the page reads it.
    """
    app.add_route("/", page)
    app.add_route("/app/{view:path}", page)
    app.add_route("/assets/{name}", asset)
    app.add_route("/login.js", login)


def page(request: Request) -> Response:
    """The dashboard's page; without a built bundle, a page that says so and logs a browser in."""
    built = BUNDLE / "index.html"
    path = built if built.is_file() else STATIC / "index.html"
    root = request.scope.get("root_path", "")
    return HTMLResponse(below(root, path.read_text("utf-8"))) if root else FileResponse(path)


def below(root: str, html: str) -> str:
    """The page with its files below the root path, which `web/src/root.ts` reads.

    root: of letters, digits and -._~/ alone, so it needs no escapes.
    """
    named = html.replace('="/', f'="{root}/')
    return named.replace("<html ", f'<html data-root="{root}" ', 1)


def asset(request: Request) -> Response:
    name = request.path_params["name"]
    path = BUNDLE / "assets" / name
    if _ASSET.fullmatch(name) is None or not path.is_file():
        raise Problem("not-found", f"the dashboard has no file {name!r}")
    return FileResponse(path, headers=_FOREVER)


def login(request: Request) -> Response:
    return FileResponse(STATIC / "login.js", media_type="text/javascript")
