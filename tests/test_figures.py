"""scripts/figures.py finds every kind of wrong figure, and this checkout has none."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.figures import README, RESULTS, check

ROOT = Path(__file__).resolve().parents[1]
RAW = "bench/results/speed.json"
MARK = f"<!-- figure: {RAW}; inline.frames_per_s; inline.ratio; inline.won -->"
HEAD = "| claim | figure | raw file |\n|---|---|---|\n"
SPEED = f"| fast | 4 336 frames/s, 4.47 times, 92.5 % won | {MARK} |"
CAMPAIGN = "| kills | ready after 1.3 s | <!-- figure: bench/results/kills.txt; after 1.3 s --> |"
UNKEPT = "| demo | 0.99 | no raw file is kept <!-- figure: none; printed only --> |"

Build = Callable[..., Path]


@pytest.fixture
def checkout(tmp_path: Path) -> Build:
    """Builds a checkout with two raw files, a README and a page of results of the given rows."""

    def build(*rows: str, readme: str = "Text.\n", data: object = None) -> Path:
        raw = {"inline": {"frames_per_s": 4335.98, "ratio": 4.46995, "won": 0.925}}
        files = {
            README: readme,
            RESULTS: HEAD + "\n".join(rows) + "\n",
            RAW: json.dumps(raw if data is None else data),
            "bench/results/kills.txt": "50 + 50 kills; ready\nafter 1.3 s\n",
            "bench/results/history/old.json": "{}",
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
        return tmp_path

    return build


def test_good_figures_pass(checkout: Build) -> None:
    assert check(checkout(SPEED, CAMPAIGN, UNKEPT)) == []


def test_thousands_may_be_rounded_and_a_mark_covers_the_block_after_it(checkout: Build) -> None:
    quotient = f"<!-- figure: {RAW}; inline.frames_per_s / inline.ratio -->"
    readme = f"{MARK}\nDuels make 4 300 frames/s,\n4.5 times as many, and win 93 %.\n\n"
    readme += f"{quotient}\n```\nthe peer\n\nmakes 970\n```\n"
    assert check(checkout(SPEED, CAMPAIGN, readme=readme)) == []


def test_a_mark_before_a_table_covers_its_rows(checkout: Build) -> None:
    root = checkout(SPEED, CAMPAIGN)
    page = root / RESULTS
    page.write_text(f"{MARK}\n{HEAD}| a | 4 336 | |\n| b | 4.47, 92.5 % | |\n\n{CAMPAIGN}\n")
    assert check(root) == []


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("| fast | 4.47 | |", "a row with a number and no mark"),
        (SPEED.replace(RAW, "bench/results/none.json"), "no file bench/results/none.json"),
        (SPEED.replace(RAW, "bench/results/history/old.json"), "bench/results/history/old.json"),
        (SPEED.replace(RAW, "pbt/speed.json"), "pbt/speed.json"),
        (SPEED.replace("4 336", "4 337"), "no such number; expected 4335.98"),
        (SPEED.replace("4.47", "4.48"), "no such number; expected 4.46995"),
        (SPEED.replace("92.5 %", "925"), "no such number; expected 0.925"),
        (SPEED.replace("inline.won", "inline.lost"), '"inline.lost" (KeyError'),
        (SPEED.replace("inline.won", "inline"), '"inline" (TypeError'),
        (SPEED.replace("-->", "->"), "an open mark"),
        (f"| fast | `4336` | {MARK} |", "a mark without a figure"),
        (CAMPAIGN.replace("; after 1.3 s", "; after 1.4 s"), '"after 1.4 s"'),
        (UNKEPT.replace("no raw file is kept", ""), '"figure: none"'),
        (UNKEPT.replace("; printed only", ""), '"figure: none"'),
    ],
)
def test_a_wrong_row_is_found(checkout: Build, row: str, found: str) -> None:
    (fault,) = check(checkout(SPEED, CAMPAIGN, row))
    assert fault.startswith(f"{RESULTS}:5: found {found}")
    assert len(fault.split("; ")) >= 3, "what was found, what was expected, what to do"


def test_a_readme_figure_needs_a_raw_file(checkout: Build) -> None:
    readme = "Text.\n\nno raw file: 0.99 <!-- figure: none; printed only -->\n"
    (fault,) = check(checkout(SPEED, CAMPAIGN, readme=readme))
    assert fault.startswith(f'{README}:3: found "figure: none"; expected a raw file')


def test_a_mark_with_nothing_after_it_is_found(checkout: Build) -> None:
    (fault,) = check(checkout(SPEED, CAMPAIGN, readme=f"4 336, 4.47, 92.5 %\n{MARK}\n"))
    assert fault.startswith(f"{README}:2: found a mark without a figure")


def test_a_raw_file_that_no_mark_names_is_found(checkout: Build) -> None:
    (fault,) = check(checkout(SPEED))
    assert fault.startswith("bench/results/kills.txt: found a raw file that no mark names")


def test_a_raw_file_outside_git_is_found(checkout: Build) -> None:
    root = checkout(SPEED, CAMPAIGN)
    subprocess.run(["git", "rm", "-q", "--cached", RAW], cwd=root, check=True)
    (fault,) = check(root)
    assert fault.startswith(f"{RESULTS}:3: found {RAW}, which git does not track")


def test_true_is_no_figure(checkout: Build) -> None:
    data = {"inline": {"frames_per_s": 4336, "ratio": 4.47, "won": True}}
    (fault,) = check(checkout(SPEED, CAMPAIGN, data=data))
    assert "True is no number" in fault


def test_the_figures_of_this_checkout_are_right() -> None:
    assert check(ROOT) == []


def test_links_of_the_bench_pages_lead_somewhere() -> None:
    for page in (ROOT / RESULTS, *(ROOT / "bench/results/history").glob("*.md")):
        links = re.findall(r"\]\(([^):]+)\)", page.read_text(encoding="utf-8"))
        assert links, f"{page} has no links"
        for link in links:
            assert (page.parent / link).exists(), f"{page}: no {link}"
