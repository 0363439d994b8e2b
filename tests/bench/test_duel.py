"""What is told of half an hour of duels: frags that were not counted are no draw, scores have
intervals, and no match is waited for for ever.
"""

import argparse
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.league.game_rows import StoredGame
from arena.matches.returns import Returns
from bench import duel, duel_games
from pbt.records import GameRecord, PlayerRef, SeatRecord

FIRST, SECOND = PlayerRef("snapshot", "a" * 64), PlayerRef("scripted", "random")


def stored(first: float | None, second: float | None) -> StoredGame:
    """A game in which the second player has seat 0."""
    seats = tuple(
        SeatRecord(player, 0, 0, 0, 0, 0.0, points)
        for player, points in ((SECOND, second), (FIRST, first))
    )
    return StoredGame(
        GameRecord(7, 0, 1, "match", 1, seats, 10, 20, "timeout", "0" * 16), None, 1, False, 0
    )


def test_the_lead_is_in_frags() -> None:
    assert (
        duel_games.lead(stored(3.0, 5.0), FIRST) == -2.0
        and duel_games.lead(stored(3.0, 5.0), SECOND) == 2.0
    )
    assert duel_games.lead(stored(0.0, -1.0), FIRST) == 1.0


@pytest.mark.parametrize(("first", "second"), [(None, 2.0), (2.0, None), (None, None)])
def test_a_game_without_a_count_is_no_draw(first: float | None, second: float | None) -> None:
    with pytest.raises(ValueError, match="game 7: expected the frags of both players, found aaaa"):
        duel_games.lead(stored(first, second), FIRST)


def test_games_against_a_bot_without_a_count_have_no_frags_at_all() -> None:
    found: Any = SimpleNamespace(
        returns=(1.0, 0.0), mean_return=0.5, return_interval=(0.0, 1.0), points=None
    )
    with pytest.raises(ValueError, match="found games without"):
        duel_games.bot_figures(found)
    counted: Returns = SimpleNamespace(**{**vars(found), "points": (2.0, 1.0)})  # type: ignore[assignment]
    assert duel_games.bot_figures(counted)["frags"] == 1.5


def test_a_match_is_waited_for_no_longer_than_its_games_can_take(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report = {
        "match": 1,
        "a": {"name": "m0", "kind": "snapshot", "id": "a" * 64},
        "b": {"name": "random"},
    }
    said = {
        **report,
        "games": 40,
        "score": 0.6,
        "low": 0.5,
        "high": 0.7,
        "wins": 20,
        "draws": 8,
        "losses": 12,
        "verdict": "a",
    }
    limits: list[float] = []

    def run(command: list[str], *, timeout: float, **named: object) -> SimpleNamespace:
        limits.append(timeout)
        return SimpleNamespace(stdout=json.dumps(said))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(
        duel_games, "match_games", lambda data, match_id: [stored(3.0, 1.0), stored(1.0, 1.0)]
    )
    for games in (40, 400):
        assert duel_games.play(tmp_path, "m0", "random", games)["frags_ahead"]["mean"] == 1.0
    assert 40 * 5 < limits[0] < limits[1] < 6 * 3600


def test_the_curve_has_the_intervals_of_its_scores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = [
        SimpleNamespace(
            weights_removed=False, record=SimpleNamespace(frames=frames, snapshot_id=str(frames))
        )
        for frames in (0, 50, 100)
    ]
    played = {
        "games": 40,
        "score": 0.6,
        "low": 0.5,
        "high": 0.7,
        "frags_ahead": {"mean": 1.0, "low": 0.5, "high": 1.5},
    }
    monkeypatch.setattr(duel_games, "list_snapshots", lambda *asked: made)
    monkeypatch.setattr(duel_games, "open_league", lambda *asked, **named: _Nothing())
    monkeypatch.setattr(duel_games, "play", lambda *asked: played)
    found = duel_games.curve(tmp_path, "m0", argparse.Namespace(curve_points=2, curve_games=40))
    assert found == [{"frames": frames, **played} for frames in (0, 100)]


def test_a_call_that_goes_on_says_what_the_one_before_measured_and_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "duel.json"
    first, second = (
        argparse.Namespace(minutes=30.0, json=path, folder=tmp_path),
        argparse.Namespace(minutes=0.0, json=path, folder=tmp_path),
    )
    assert duel.begun(first)["settings"] == {"minutes": 30.0} and "training" not in duel.begun(
        first
    )
    assert (
        duel.begun(second)["training"] is None
        and "nothing is known of the training" in capsys.readouterr().err
    )
    duel.write(
        {
            "hardware": {"commit": "a"},
            "settings": {"minutes": 30.0},
            "training": {"frames": 7},
            "third": {},
        },
        path,
    )
    for _ in range(2):
        found = duel.begun(second)
        played = found.pop("played")
        assert found == {
            "hardware": {"commit": "a"},
            "settings": {"minutes": 30.0},
            "training": {"frames": 7},
        }
        assert played["settings"] == {"minutes": 0.0} and played["hardware"]["cores"] >= 1
        duel.write({**found, "played": played}, path)
    duel.write({"hardware": {"commit": "of a call that failed before its training ended"}}, path)
    assert duel.begun(second)["training"] is None


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        return None


def test_the_report_is_read_by_people() -> None:
    match = {
        "a": "m0",
        "b": "random",
        "games": 4,
        "score": 1.0,
        "low": 0.5,
        "high": 1.0,
        "frags_ahead": {"mean": 3.0, "low": None, "high": None},
    }
    bot = {
        "games": 100,
        "lead": 8.41,
        "low": 5.19,
        "high": 11.63,
        "frags": 23.2,
        "won": 0.79,
        "drawn": 0.01,
    }
    said = duel.lines(
        {"training": None, "third": match, "random": match, "bots": {"of skill 50": bot}}
    )
    assert said[1:] == [
        "m0 against random: 1.000 [0.500, 1.000] over 4 games, +3.00 frags in every game",
        (
            "against a bot of skill 50: won 79%, drew 1% of 100 games, +8.41 [+5.19, +11.63] "
            "frags a game"
        ),
    ]
