"""What tests of Doom games share."""

import time
from contextlib import suppress

import psutil

from pbt.envs.contract import SeatTurn
from pbt.envs.doom.game import DoomGame


def engines(of: int) -> list[psutil.Process]:
    """Engine processes of a process; one that just ended is none."""
    found = []
    for child in psutil.Process(of).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any("+viz_instance_id" in word for word in child.cmdline()):
                found.append(child)
    return found


def until(condition: object, timeout_s: float = 10.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def play(game: DoomGame, seed: int, action: tuple[int, ...]) -> list[SeatTurn]:
    turns = game.reset(seed)
    while not turns[-1].over:
        turns += game.step({0: action})
    return turns
