"""The bots' curriculum: what a game makes of the level, and which bots an engine then seats."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from pbt.envs.contract import Curricular
from pbt.envs.doom.bot_curriculum import FIRST_LEVEL, drawn_skills, level_after
from pbt.envs.doom.match import DoomMatch, make
from pbt.errors import EnvOptionsError

OPTIONS: dict[str, Any] = {"players": 1, "bots": 1, "bot_skill": 100, "bot_curriculum": True}


@contextmanager
def match(monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[tuple[DoomMatch, list[int]]]:
    """A match, and the list to which the skills go that its process is told."""
    made = make(**{**OPTIONS, "max_tics": 4, "buttons": ["ATTACK"], **options})
    told: list[int] = []
    real = made._ask

    def ask(letter: bytes, number: int, beginning: Any) -> None:
        if letter == b"B":
            told.append(number)
        real(letter, number, beginning)

    monkeypatch.setattr(made, "_ask", ask)
    try:
        yield made, told
    finally:
        made.close()


def play(game: DoomMatch, seed: int, *, frags: float = 0.0) -> None:
    """A game. frags: what the player scores in it, by a script."""
    turns = game.reset(seed)
    while not turns[0].over:
        turns = game.step({0: (0,)})
    own = int(game._column("PLAYER_NUMBER")[0])
    for name in ("FRAGCOUNT", f"PLAYER{own + 1}_FRAGCOUNT"):
        game._measured[0][game._counted.column[name]] += frags


def test_the_level_of_a_player_that_always_wins_climbs_from_20_to_100() -> None:
    levels = [FIRST_LEVEL]
    while len(levels) < 12:
        levels.append(level_after(levels[-1], 3.0, [2.0, 0.0, 1.0]))
    assert levels == [20, 30, 40, 50, 60, 70, 80, 90, 100, 100, 100, 100]


@pytest.mark.parametrize(
    ("own", "others", "step"),
    [
        (5, [4, 3, 2, 1, 0, 0, 0], 10),
        (5, [5, 3, 2, 1, 0, 0, 0], 0),
        (3, [5, 5, 5, 5, 5, 2, 1], 0),
        (3, [5, 5, 5, 5, 5, 5, 1], -10),
        (0, [5, 5, 5, 5, 5, 5, 1], -10),
        (1, [0], 10),
        (0, [0], 0),
        (-1, [0], -10),
    ],
)
def test_a_win_over_all_raises_the_level_and_a_place_near_the_last_lowers_it(
    own: float, others: list[float], step: float
) -> None:
    assert level_after(50.0, own, others) == 50.0 + step


def test_the_level_stays_between_10_and_100() -> None:
    assert level_after(10.0, 0.0, [1.0]) == 10.0
    assert level_after(100.0, 1.0, [0.0]) == 100.0


def test_skills_follow_from_the_seed_and_the_level_alone() -> None:
    drawn = np.array([drawn_skills(seed, 50.0, 7) for seed in range(300)])
    assert drawn_skills(3, 50.0, 7) == drawn[3].tolist() != drawn[4].tolist()
    assert set(drawn.ravel().tolist()) <= set(range(10, 101, 10))
    assert drawn.mean() == pytest.approx(50.0, abs=1.0)
    # In tens, the deviation of 10 is a little more.
    assert drawn.std() == pytest.approx(10.4, abs=0.5)
    assert {*drawn_skills(1, 100.0, 9), *drawn_skills(2, 10.0, 9)} <= set(range(10, 101, 10))


def test_games_of_a_training_are_at_the_tables_level_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with match(monkeypatch) as (game, told):
        assert isinstance(game, Curricular)
        level, seen = 0.0, [FIRST_LEVEL]
        for seed in range(9):
            game.train_at(level)
            play(game, seed, frags=1.0)
            level = game.next_level()
            seen.append(level)
        assert seen == [20, 30, 40, 50, 60, 70, 80, 90, 100, 100]
        assert told == [drawn_skills(seed, seen[seed], 1)[0] for seed in range(9)]
        play(game, 9)
        assert len(told) == 9, "a game that is no training takes bot_skill"


def test_equal_seeds_and_levels_are_equal_games_of_fresh_matches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for _ in range(2):
        with match(monkeypatch, max_tics=40) as (game, told):
            game.train_at(70.0)
            play(game, 5)
            found.append((told, game._measured, game._memory.screens.copy()))
    assert found[0][:2] == found[1][:2]
    assert np.array_equal(found[0][2], found[1][2])


def test_without_the_option_there_is_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    with match(monkeypatch, bot_curriculum=False) as (game, told):
        play(game, 1, frags=1.0)
        assert (game.follows_results, told) == (False, [])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"players": 2}, "bot_curriculum = true: bots follow the results of one player"),
        ({"bot_skill": None}, "say bot_skill = 100"),
        ({"bot_curriculum": 1}, "bot_curriculum = 1: must be true or false"),
    ],
)
def test_a_curriculum_that_cannot_be_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(EnvOptionsError) as raised:
        make(**{**OPTIONS, "scenario": "cig", **options})
    assert problem in str(raised.value)
