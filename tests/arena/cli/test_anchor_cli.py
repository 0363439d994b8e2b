"""`arena anchor`: the promise that a snapshot's weights stay."""

import json
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.league.retention import anchors
from arena.league.writer import LeagueWriter
from tests.arena.league.samples import new_league, snapshot

Output = pytest.CaptureFixture[str]


def test_an_anchor_is_marked_and_unmarked(tmp_path: Path, capsys: Output) -> None:
    league, incarnation = new_league(tmp_path)
    with LeagueWriter(league, incarnation) as writer:
        writer.snapshot(snapshot("a", "m1", 1_200_000))
    assert run(["anchor", "demo/m1@1.2M", "--data", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "player": "demo/m1@1.2M",
        "id": "a" * 64,
        "anchor": True,
    }
    assert anchors(league) == {"a" * 64}
    assert run(["anchor", "aaaa", "--remove", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "demo/m1@1.2M (aaaaaaaa) is no anchor any more\n"
    assert anchors(league) == set()
    assert run(["anchor", "demo/m9", "--data", str(tmp_path)]) == 2
    assert "has no member 'm9'" in capsys.readouterr().err
    league.close()


def test_an_anchor_without_a_league_makes_none(tmp_path: Path, capsys: Output) -> None:
    assert run(["anchor", "demo/m0", "--data", str(tmp_path / "none")]) == 2
    assert "nothing there yet" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
