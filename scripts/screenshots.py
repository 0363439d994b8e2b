"""Pictures of the dashboard, light, dark and of a phone's width: `python scripts/screenshots.py DATA --population NAME [--to FOLDER]`.

Serves the data directory itself, on any free port. Needs playwright and Chromium (`apt-get install chromium`).
"""

import argparse
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from api.tokens import COOKIE, Tokens
from arena.service_state import read_state

VIEWS = ("", "/ratings", "/matrix", "/values", "/lineage", "/curves", "/events")
LOOKS = (("light", 1280), ("dark", 1280), ("light", 320))
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
START_S = 60.0


def wait_for_url(data: Path, process: subprocess.Popen[bytes]) -> str:
    """Raises: SystemExit when the service ends or takes too long; it has said why."""
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        state = read_state(data)
        if state is not None and state.pid == process.pid:
            return state.url
        time.sleep(0.1)
    raise SystemExit("the service did not start")


def take(browser: Browser, url: str, cookie: str, population: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"population{view.replace('/', '-')}": f"populations/{population}{view}" for view in VIEWS}
    pages |= {
        "populations": "populations",
        "league": f"league?population={population}",
        "matches": "matches",
        "compare": f"compare?population={population}",
    }
    for scheme, width in LOOKS:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme="dark" if scheme == "dark" else "light")
        context.add_cookies([{"name": COOKIE, "value": cookie, "url": url}])
        page = context.new_page()
        for name, path in pages.items():
            page.goto(f"{url}/app/{path}")
            page.locator("h1").wait_for()
            page.get_by_text("Loading").wait_for(state="detached")
            page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=True)
            print(folder / f"{name}-{scheme}-{width}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description="Pictures of the dashboard.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--population", required=True)
    parser.add_argument("--to", type=Path, default=Path("screenshots"))
    asked = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium on PATH: apt-get install chromium")
    process = subprocess.Popen([sys.executable, "-P", "-m", "arena", "serve", "--port", "0", "--data", str(asked.data)], stdout=subprocess.DEVNULL)
    try:
        url = wait_for_url(asked.data, process)
        cookie = Tokens(asked.data / "service").new_cookie("admin")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            take(browser, url, cookie, asked.population, asked.to)
            browser.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


if __name__ == "__main__":
    main()
