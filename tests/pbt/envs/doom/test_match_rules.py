"""Options of a match that the code of the paper has and that are off unless asked for: the moment
after a spawn, and the bar on the screen.
"""

from contextlib import closing
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pbt.envs.doom.match import make
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.match_process import _arguments
from pbt.envs.doom.network_ports import take_port

# The bar takes 32 of the 200 lines that a screen of Doom has.
BAR = 72 * 32 // 200
ALONE: dict[str, Any] = {"scenario": "cig", "players": 1, "bots": 1, "bot_skill": 0}


def lowest_health(**options: Any) -> float:
    """Of a player that walks into a wall and shoots rockets at it, within its first second."""
    buttons = ["MOVE_FORWARD", "ATTACK"]
    match = make(**ALONE, frame_skip=1, max_tics=30, buttons=buttons, **options)
    lowest = 1.0
    with closing(match):
        for seed in (3, 5, 6):
            # The engine of a fresh match plays the game of the seed; later ones go on from it.
            turns = match.reset(seed)
            press = 0
            while not turns[0].over:
                press = 1 - press
                turns = match.step({0: (1, press)})
                lowest = min(lowest, float(turns[0].observation["variables"][0]))
    return lowest


def test_nobody_is_hurt_in_the_moment_after_a_spawn_where_that_is_asked_for() -> None:
    assert lowest_health(spawn_protection=True) == 1.0
    assert lowest_health() < 1.0


@pytest.mark.parametrize("asked", [False, True])
def test_the_host_alone_is_told_of_the_protection(asked: bool) -> None:
    options, port = MatchOptions(spawn_protection=asked), take_port()
    try:
        assert ("+sv_respawnprotect 1" in _arguments(options, 0, port, None)) == asked
        assert "sv_respawnprotect" not in _arguments(options, 1, port, None)
    finally:
        port.close()


def first_screens(**options: Any) -> list[NDArray[np.uint8]]:
    with closing(make(**ALONE, max_tics=2, **options)) as match:
        return [match.reset(seed)[0].observation["screen"] for seed in (1, 2, 3)]


def alike(screens: list[NDArray[np.uint8]]) -> float:
    """The share of the lowest lines that is equal in all of the screens."""
    first, *others = (screen[-BAR:] for screen in screens)
    return float(np.mean([(first == other).all(axis=2) for other in others]))


def test_the_bar_shows_the_same_at_the_beginning_of_each_game() -> None:
    # All but the face, which looks about.
    assert alike(first_screens(hud=True)) > 0.9
    assert alike(first_screens()) < 0.7
