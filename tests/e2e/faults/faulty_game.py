"""Connect four, or Doom, that misbehaves when it is told to, by files in the folder `flags` beside
this file.

"raise-once", "hang-once", "exit-once": the one game that manages to remove the file misbehaves in a
step. "raise-always" and so on: every game does in every step. Both spare the games of small seeds,
with which the program tries a game out. "raise-loading": making a table raises.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pettingzoo.classic.connect_four.connect_four import raw_env

from pbt.envs.contract import SeatTurn
from pbt.envs.doom.game import DoomGame
from pbt.envs.doom.options import read_options
from pbt.envs.doom.scene import known

FLAGS = Path(__file__).with_name("flags")
TRIED_OUT = 1000


class FaultyConnectFour(raw_env):  # type: ignore[misc]  # PettingZoo has no types
    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.tried_out = seed is not None and seed < TRIED_OUT
        super().reset(seed, options)

    def step(self, action: Any) -> None:
        if not self.tried_out:
            obey()
        super().step(action)


class FaultyDoom(DoomGame):
    def reset(self, seed: int) -> list[SeatTurn]:
        self.tried_out = seed < TRIED_OUT
        return super().reset(seed)

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        if not self.tried_out:
            obey()
        return super().step(actions)


def obey() -> None:
    """Misbehave as told."""
    if FLAGS.exists():
        for fault in ("raise", "hang", "exit"):
            if told(fault):
                misbehave(fault)


def told(fault: str) -> bool:
    try:
        (FLAGS / f"{fault}-once").unlink()
    except FileNotFoundError:
        return (FLAGS / f"{fault}-always").exists()
    return True


def misbehave(fault: str) -> None:
    if fault == "raise":
        raise RuntimeError("the board caught fire")
    if fault == "exit":
        os._exit(3)
    time.sleep(86_400)


def make() -> FaultyConnectFour:
    if (FLAGS / "raise-loading").exists():
        raise RuntimeError("the board is lost")
    return FaultyConnectFour()


def make_doom(**options: Any) -> FaultyDoom:
    return FaultyDoom(read_options(options, known()))
