"""Tables on narrow screens: columns go, numbers stay whole."""

import pytest

from arena.cli.output import print_table
from arena.words import number_of

COLUMNS = (">rank", "player", ">Elo [95 %]", ">score", ">vs best", ">met")
ROWS = [
    ("1", "first/m1@20.5k", "+864 [+270, +1457]", "66.7%", "", "12"),
    ("?", "bot.py --depth 3", "-20 [-131, +91]", "9.1%", "", "3"),
]
SPARE = ("met", "score", "vs best")
Output = pytest.CaptureFixture[str]


def shown(width: int | None, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.delenv("COLUMNS", raising=False)
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    print_table(COLUMNS, ROWS, "a table", SPARE)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("width", range(20, 100, 10))
def test_what_is_shown_is_shown_whole(
    width: int, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(width, capsys, monkeypatch)
    head, left_out = lines[1], lines[-1] if lines[-1].startswith("Left out") else ""
    for place, name in enumerate(column.removeprefix(">") for column in COLUMNS):
        assert (name in head) != (name in left_out)
        if name in head:
            words = [
                cell
                for row in ROWS
                for cell in ([row[place]] if COLUMNS[place].startswith(">") else row[place].split())
            ]
            assert all(word in "\n".join(lines) for word in words)
    assert all(name in head for name in ("rank", "player", "Elo [95 %]"))


def test_one_of_a_thing_is_said_as_one() -> None:
    assert [number_of(count, "seed pair") for count in (0, 1, 2)] == [
        "0 seed pairs",
        "1 seed pair",
        "2 seed pairs",
    ]


def test_empty_columns_go_first_then_those_that_say_least(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(None, capsys, monkeypatch)[-1].startswith("   ?"), "a pipe takes everything"
    assert (
        shown(60, capsys, monkeypatch)[-1]
        == "Left out to fit 60 columns: vs best; --json and a wider terminal have it."
    )
    assert (
        shown(48, capsys, monkeypatch)[-1]
        == "Left out to fit 48 columns: vs best, met; --json and a wider terminal have them."
    )
    assert max(map(len, shown(48, capsys, monkeypatch)[:-1])) <= 48
