"""Takes pictures of the dashboard of a real population.

    python scripts/screenshots.py DATA --population NAME --to FOLDER
    python scripts/screenshots.py DATA --population NAME --readme

The first takes every page, light, dark, of a phone's width and of a wide screen's; the second takes
the pictures of the README, into docs/images. The script serves the data directory itself, on a free
port. Pages of a match, a stored game or a board are left out where there is none. Nothing is
stored. It needs playwright and Chromium (`apt-get install chromium`).
"""

import argparse
import string
import tempfile
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, BrowserContext, Page

from api.http.tokens import COOKIE, Tokens
from bench.browser import VIEWS, launched
from bench.served import Service, served

LOOKS = (("light", 1280, 800), ("dark", 1280, 800), ("light", 390, 844), ("light", 2560, 1440))
"""Colours, width and height of the screen."""
HEIGHT = 800
README = {
    "overview": ("overview", 820, "main"),
    "matrix": ("matrix", 620, "main .choices:has(input[type=range])"),
    "hyperparameters": ("values", 720, "main"),
}
"""Picture -> (view, height in pixels, what stands at the top of it)."""
README_WIDTH = 1000
DOCS_IMAGES = Path(__file__).resolve().parent.parent / "docs/images"
MOST_BYTES = 200_000

WHOLE = """() => document.querySelector("main h1, main label, main .failed") !== null
    && document.querySelector(".loading") === null
    && document.querySelector(".badge.live") !== null
    && !document.body.textContent.includes("it is being loaded")
    && !document.body.textContent.includes("being assessed")
    && [...document.querySelectorAll(".chart")].every(
        (one) => one.getBoundingClientRect().top > innerHeight || one.querySelector("canvas"))
"""
"""A condition of the page: everything has loaded, and the charts in sight are drawn."""
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def known(service: Service, population: str) -> dict[str, str]:
    """Values for the names in the addresses of views, where the data directory has any."""
    names = {"population": population}
    matches = [
        one
        for one in service.call("GET", "/v1/matches?limit=100")["items"]
        if len(one["players"]) == 2 and one["games"] > 1
    ]
    evaluations = service.call("GET", "/v1/evaluations?limit=1")["items"]
    games = service.call("GET", f"/v1/populations/{population}/games?kind=evaluation&limit=1")[
        "items"
    ]
    for name, rows in (("match", matches), ("evaluation", evaluations), ("game", games)):
        if rows:
            names[name] = str(rows[0]["id"])
    return names


def seated(service: Service, page: Page, population: str) -> str | None:
    """Id of a game by hand whose first move is due; None for a game without a board.

    page  opens the game's view, which waits for the opponent
    """
    env = service.call("GET", f"/v1/populations/{population}")["spec"]["config"]["env"]["name"]
    try:
        play: Any = service.call(
            "POST", "/v1/plays", {"opponent": "random", "env": env, "name": "guest"}
        )
    except httpx2.HTTPStatusError:
        # The service refuses games that a browser cannot play.
        return None
    page.goto(f"{service.state.url}/app/play/{play['id']}")
    page.locator("button[data-action], main .failed").first.wait_for()
    return (
        str(play["id"])
        if service.call("GET", f"/v1/plays/{play['id']}")["state"] == "turn"
        else None
    )


def paths(names: dict[str, str]) -> dict[str, str]:
    """Name of the picture -> address of the view, for views whose names all have a value."""
    needs = {
        name: {field for _, field, _, _ in string.Formatter().parse(view.path) if field}
        for name, view in VIEWS.items()
    }
    return {
        name: view.path.format(**names)
        for name, view in VIEWS.items()
        if needs[name] <= names.keys()
    }


def logged_in(
    browser: Browser, service: Service, scheme: str, width: int, height: int
) -> BrowserContext:
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    tokens = Tokens(service.data / "service")
    cookie, _ = tokens.new_session(tokens.named("admin"))
    context.add_cookies(
        [{"name": COOKIE, "value": cookie, "url": service.state.url, "sameSite": "Strict"}]
    )
    return context


def see(page: Page, address: str) -> None:
    """Open a view, and wait until everything has loaded and is painted."""
    page.goto(address)
    page.wait_for_function(WHOLE)
    page.evaluate(PAINTED)


def all_of(page: Page, width: int, height: int) -> float:
    """Make the window as high as the page, since charts are drawn when they come into sight.

    Returns: how many screens of that height the page has
    """
    whole = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": max(height, whole)})
    page.wait_for_function(WHOLE)
    page.evaluate(PAINTED)
    return float(whole / height)


def take_all(browser: Browser, service: Service, population: str, folder: Path) -> None:
    """Take every page in every look."""
    names = known(service, population)
    play = seated(
        service, logged_in(browser, service, "light", README_WIDTH, HEIGHT).new_page(), population
    )
    for scheme, width, height in LOOKS:
        page = logged_in(browser, service, scheme, width, height).new_page()
        for name, path in paths(names if play is None else {**names, "play": play}).items():
            page.set_viewport_size({"width": width, "height": height})
            see(page, f"{service.state.url}/app/{path}")
            screens = all_of(page, width, height)
            picture = folder / f"{name}-{scheme}-{width}.png"
            page.screenshot(path=picture, full_page=True)
            print(f"{picture}, {screens:.1f} screens", flush=True)
    if play is not None:
        service.call("DELETE", f"/v1/plays/{play}")


def take_readme(browser: Browser, service: Service, population: str, folder: Path) -> None:
    """Take the README's pictures. Raises: SystemExit for a picture that is too large."""
    for name, (view, height, first) in README.items():
        page = logged_in(browser, service, "light", README_WIDTH, height).new_page()
        see(page, f"{service.state.url}/app/{VIEWS[view].path.format(population=population)}")
        page.locator(first).first.evaluate("of => of.scrollIntoView()")
        page.wait_for_function(WHOLE)
        page.evaluate(PAINTED)
        path = folder / f"{name}.png"
        page.screenshot(path=path)
        if (size := path.stat().st_size) > MOST_BYTES:
            raise SystemExit(f"{path} has {size} bytes; expected at most {MOST_BYTES}")
        print(path, size)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--population", required=True)
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--to", type=Path, default=None)
    options = parser.parse_args()
    folder = options.to or (DOCS_IMAGES if options.readme else Path("artifacts/screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as aside,
        served(options.data, Path(aside) / "serve.log") as service,
        launched() as browser,
    ):
        (take_readme if options.readme else take_all)(browser, service, options.population, folder)


if __name__ == "__main__":
    main()
