"""The count of tics and games of duels: a match that ends is told with its step, and the rest is
counted all the same.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench import doom_in_step
from pbt.envs.contract import SeatTurn
from pbt.errors import EnvCrash
from tests.arena.matches.lamps import STEPS, Lamps

SKIP_THAT_CRASHES, CRASHES_IN = 2, 7


class Duel(Lamps):
    """A match of two whose engines draw apart, at one skip, in one step."""

    def __init__(self, skip: int) -> None:
        super().__init__()
        self._skip, self._steps, self._tics_now = skip, 0, 0

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._steps += 1
        if self._skip == SKIP_THAT_CRASHES and self._steps == CRASHES_IN:
            raise EnvCrash("the players are not in step: their engines have come to tics [14, 12]")
        self._tics_now += self._skip
        return super().step(actions)

    def engine_tics(self) -> tuple[int, int]:
        return (self._tics_now,) * 2


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the JSON lies of a program that has ended with exit code 1."""
    monkeypatch.setattr(doom_in_step, "match", lambda options, mode, skip, tics: Duel(skip))
    monkeypatch.setattr(doom_in_step, "random_actions", lambda game, rng: {0: (0,), 1: (0,)})
    monkeypatch.setattr(doom_in_step, "add", lambda digest, turns: None)
    words = [
        "--modes",
        "barrier",
        "--steps",
        "20",
        "--skips",
        "1",
        "2",
        "4",
        "--runs",
        "2",
        "--frame-skip",
        "2",
        "--json",
        str(tmp_path / "found.json"),
    ]
    monkeypatch.setattr(sys, "argv", ["doom_in_step", *words])
    with pytest.raises(SystemExit) as ended:
        doom_in_step.main()
    assert ended.value.code == 1
    return tmp_path / "found.json"


def test_a_match_that_ends_is_told_and_the_others_are_counted(told: Path) -> None:
    report = json.loads(told.read_text())
    found = report["in_step"]["barrier"]
    assert found["1"] == {
        "steps": 20,
        "games": 20 // STEPS,
        "tics_by_player": [20, 20],
        "crash": None,
    } and found["4"]["tics_by_player"] == [80, 80]
    steps = CRASHES_IN - 1
    assert (found["2"]["steps"], found["2"]["tics_by_player"], found["2"]["crash"]["step"]) == (
        steps,
        [2 * steps] * 2,
        CRASHES_IN,
    )
    assert "tics [14, 12]" in found["2"]["crash"]["text"]
    assert [
        line
        for line in doom_in_step.lines(report)
        if "skip 2: 6 steps, 12 and 12 tics; THE MATCH ENDED in step 7: " in line
    ]


def test_games_of_a_match_that_ends_are_no_equal_games(told: Path) -> None:
    report = json.loads(told.read_text())
    games = report["equal_games"]["barrier"]
    assert (games["runs"], games["first_games"], len(games["crashes"])) == (
        2,
        0,
        2,
    ) and "not in step" in games["crashes"][0]
