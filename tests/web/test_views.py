"""One list of the dashboard's views (`bench/browser.py`): what the sources draw, tests, pictures
and the wheel look at, no more and no less.
"""

import re
import string
from pathlib import Path

from bench.browser import VIEWS
from tests.web.test_dashboard import EMPTY


def _between(text: str, begin: str, end: str) -> str:
    return text.partition(begin)[2].partition(end)[0]


def test_every_page_and_every_tab_is_in_the_list(repository: Path) -> None:
    app = (repository / "web/src/app.tsx").read_text()
    drawn = set(re.findall(r"<(\w+)", _between(app, "\nfunction view(", "\n}\n"))) - {
        "Empty",
        "p",
        "a",
    }
    assert drawn == {view.page for view in VIEWS.values()}
    page = (repository / "web/src/pages/population/Population.tsx").read_text()
    tabs = re.findall(r'\["(\w+)", "[^"]+"\]', _between(page, "const TABS = [", "] as const"))
    ours = [
        view.path.removeprefix("populations/{population}").removeprefix("/") or "overview"
        for view in VIEWS.values()
        if view.page == "Population"
    ]
    assert ours == tabs != []


def test_every_section_is_looked_at_when_it_is_empty(repository: Path) -> None:
    app = (repository / "web/src/app.tsx").read_text()
    sections = re.findall(
        r'\["(\w+)", "[^"]+"\]', _between(app, "const SECTIONS = [", "] as const")
    )
    assert list(EMPTY) == sections != []


def test_addresses_name_what_is_there() -> None:
    names = {
        field
        for view in VIEWS.values()
        for _, field, _, _ in string.Formatter().parse(view.path)
        if field
    }
    assert names == {"population", "match", "evaluation", "game", "play"}
