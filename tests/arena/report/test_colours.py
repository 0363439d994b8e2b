"""The report is a file alone, so it repeats the colours of the dashboard. They stay the same."""

import re
from pathlib import Path

DASHBOARD, REPORT = Path("web/src/style/tokens.css"), Path("arena/report/page.css")


def colours(style: Path, *, dark: bool) -> dict[str, str]:
    """Name -> colour, for the light or the dark page."""
    light, _, after = style.read_text(encoding="utf-8").partition("prefers-color-scheme: dark")
    block = after.split("}")[0] if dark else light
    return dict(re.findall(r"(--[a-z0-9-]+): (#[0-9a-f]{6});", block))


def test_the_report_has_the_colours_of_the_dashboard(repository: Path) -> None:
    for dark in (False, True):
        shown, own = (colours(repository / one, dark=dark) for one in (DASHBOARD, REPORT))
        both = shown.keys() & own.keys()
        assert {"--page", "--ink", "--series-0", "--series-7"} <= both
        assert {name: own[name] for name in both} == {name: shown[name] for name in both}
