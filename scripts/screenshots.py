"""Pictures of the dashboard from a real population.

python scripts/screenshots.py DATA --population NAME --to FOLDER           every page, light, dark and of a phone's width
python scripts/screenshots.py DATA --population NAME --readme              those of the README, into docs/images

Serves the data directory itself, on any free port. Needs playwright and Chromium (`apt-get install chromium`).
"""

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page

from api.tokens import COOKIE, Tokens
from bench.browser import launched
from bench.service import Service, served

TABS = ("ratings", "matrix", "values", "lineage", "curves", "health", "events", "config", "policies/best")
LOOKS = (("light", 1280), ("dark", 1280), ("light", 320))
README = {"ratings": ("ratings", 680), "matrix": ("matrix", 760), "hyperparameters": ("values", 720)}
"""Picture -> (tab of the population, height)."""
README_WIDTH = 1000
DOCS_IMAGES = Path(__file__).resolve().parent.parent / "docs/images"
MOST_BYTES = 200_000


def pages(service: Service, population: str) -> dict[str, str]:
    """Name of the picture -> address of the view."""
    found = {"population": f"populations/{population}"}
    found |= {f"population-{tab.replace('/', '-')}": f"populations/{population}/{tab}" for tab in TABS}
    found |= {"populations": "populations", "new": "populations/new/population?template=demo", "league": f"league?population={population}"}
    found |= {"matches": "matches", "compare": f"compare?population={population}", "system": "system"}
    matches = service.call("GET", "/v1/matches?limit=1")["items"]
    if matches:
        found["match"] = f"matches/{matches[0]['id']}"
    return found


def logged_in(browser: Browser, service: Service, scheme: str, width: int, height: int) -> BrowserContext:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light")
    cookie = Tokens(service.data / "service").new_cookie("admin")
    context.add_cookies([{"name": COOKIE, "value": cookie, "url": service.state.url, "sameSite": "Strict"}])
    return context


def see(page: Page, address: str) -> None:
    """Until everything has come."""
    page.goto(address)
    page.locator("h1").wait_for()
    page.get_by_text("Loading").first.wait_for(state="detached")
    page.locator(".badge.live").wait_for()
    # Charts are drawn in the frame after they came into sight.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200)))")


def take_all(browser: Browser, service: Service, population: str, folder: Path) -> None:
    for scheme, width in LOOKS:
        page = logged_in(browser, service, scheme, width, 800).new_page()
        for name, path in pages(service, population).items():
            see(page, f"{service.state.url}/app/{path}")
            page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=True)
            print(folder / f"{name}-{scheme}-{width}.png")


def take_readme(browser: Browser, service: Service, population: str, folder: Path) -> None:
    """Raises: SystemExit for one that is too large to load with a README."""
    for name, (tab, height) in README.items():
        page = logged_in(browser, service, "light", README_WIDTH, height).new_page()
        see(page, f"{service.state.url}/app/populations/{population}/{tab}")
        path = folder / f"{name}.png"
        page.screenshot(path=path)
        if (size := path.stat().st_size) > MOST_BYTES:
            raise SystemExit(f"{path} has {size} bytes, more than {MOST_BYTES}")
        print(path, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--population", required=True)
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--to", type=Path, default=None)
    asked = parser.parse_args()
    folder = asked.to or (DOCS_IMAGES if asked.readme else Path("artifacts/screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as aside, served(asked.data, Path(aside) / "serve.log") as service, launched() as browser:
        (take_readme if asked.readme else take_all)(browser, service, asked.population, folder)


if __name__ == "__main__":
    main()
