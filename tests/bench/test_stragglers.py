"""The bench of games that take unequally long: its laws, and what its game sleeps."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import sleeping_game
from bench.sleeping_game import make, recorded
from bench.stragglers import GAMES, Times, longest_s


@pytest.mark.parametrize("alpha", [1, 4, 16, 64])
def test_the_integral_is_what_a_simulation_finds(alpha: int) -> None:
    found = Times(0.04).longest(alpha)
    error = found.std() / len(found) ** 0.5
    assert found.mean() == pytest.approx(longest_s(alpha, 0.04), abs=4 * error)


def test_recorded_times_are_drawn_as_long_in_the_mean(tmp_path: Path) -> None:
    path = tmp_path / "steps.json"
    path.write_text(json.dumps({"steps_ms": [1.0, 1.0, 1.0, 5.0]}))
    assert recorded(path).tolist() == [0.5, 0.5, 0.5, 2.5]
    # Of 16 steps one is long, but for 0.75 ** 16.
    expected = 0.01 * (2.5 - 2.0 * 0.75**GAMES)
    assert Times(0.01, recorded=path).longest(1).mean() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("options", "different"),
    [({"shape": 0.0}, 1), ({"shape": 4.0}, 400), ({"times": "steps.json"}, 2)],
    ids=str,
)
def test_a_game_sleeps_as_its_seed_draws(
    options: dict[str, Any], different: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = list[float]()
    monkeypatch.setattr(sleeping_game.time, "sleep", slept.append)
    monkeypatch.chdir(tmp_path)
    Path("steps.json").write_text(json.dumps({"steps_ms": [1.0, 3.0]}))
    game = make(mean_ms=10.0, **options)
    for _ in range(2):
        game.reset(seed=3)
        for _ in range(400):
            game.step(0)
    assert slept[:400] == slept[400:]
    assert len(set(slept)) == different
    assert np.mean(slept) == pytest.approx(0.01, rel=0.15)
