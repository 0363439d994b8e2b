"""`arena verify match:N` on reports that the service stored: every number and word follows from the
games.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from tests.arena.verification.forging import execute

Output = pytest.CaptureFixture[str]
Report = dict[str, Any]


def store(data: Path, report: Report) -> None:
    """Stores a report of match 1, as the service does."""
    execute(data, "DELETE FROM evaluations")
    execute(
        data,
        "INSERT INTO evaluations (request, cancelled, state, message, restarts, match_id, report, "
        "created_at, finished_at) VALUES ('{}', 0, 'SUCCEEDED', '', 0, 1, ?, 0, 1)",
        json.dumps(report),
    )


def differences(data: Path, capsys: Output) -> list[str]:
    capsys.readouterr()
    run(["verify", "match:1", "--replay", "none", "--data", str(data), "--json"])
    return [one["where"] for one in json.loads(capsys.readouterr().out)["differences"]]


def reported(data: Path, capsys: Output) -> Report:
    capsys.readouterr()
    assert run(["match", "--resume", "1", "--data", str(data), "--json"]) == 0
    report: Report = json.loads(capsys.readouterr().out)
    return report


def _reword(report: Report) -> None:
    report["verdict"] = "random is stronger (95 %)"


def _narrow(report: Report) -> None:
    report["low"] = report["score"] - 0.001


def _decide(report: Report) -> None:
    report["sprt"] = {"elo0": 0.0, "elo1": 20.0, "state": "accept H1"}


def _win_by_margin(report: Report) -> None:
    report["margin"] = {"units": 10, "mean": 1.0, "los": 1.0}


def _exchange(report: Report) -> None:
    report["a"], report["b"] = report["b"], report["a"]


ALTERED: tuple[tuple[Callable[[Report], None], str], ...] = (
    (_reword, "verdict"),
    (_narrow, "low"),
    (_decide, "sprt"),
    (_win_by_margin, "margin"),
    (_exchange, "a.id"),
)


def test_a_report_that_says_more_than_its_games_is_found(data: Path, capsys: Output) -> None:
    report = reported(data, capsys)
    store(data, {**report, "games_per_s": 7.5, "notes": ["played on another machine"]})
    assert differences(data, capsys) == []
    for alter, name in ALTERED:
        altered = json.loads(json.dumps(report))
        alter(altered)
        store(data, altered)
        found = differences(data, capsys)
        assert any(where.endswith(f", {name}") for where in found), (name, found)


def test_a_report_of_another_version_is_compared_in_its_counts(data: Path, capsys: Output) -> None:
    report = reported(data, capsys)
    del report["halving_games"]
    store(data, {**report, "verdict": "in the words of that version"})
    assert differences(data, capsys) == []
    store(data, {**report, "wins": report["wins"] + 1})
    assert [where.split(", ")[1] for where in differences(data, capsys)] == ["wins"]


def test_players_that_are_gone_leave_the_statistics(data: Path, capsys: Output) -> None:
    report = reported(data, capsys)
    assert run(["delete", "run", "--yes", "--data", str(data)]) == 0
    store(data, report)
    assert differences(data, capsys) == []
    store(data, {**report, "low": report["score"] - 0.001})
    assert [where.split(", ")[1] for where in differences(data, capsys)] == ["low"]
