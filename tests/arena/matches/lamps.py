"""A game with images that needs no engine."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn
from pbt.records import PlayerRef

STEPS = 5


class Lamps:
    """Every seat sees its own colour, brighter with every step; seat 0 is given a point for each.

    on_step  called with the number of the step, to go wrong in time
    tics     that a step covers
    """

    reward_terms = ("reward",)

    def __init__(
        self, seats: int = 2, on_step: Callable[[int], None] = lambda step: None, tics: int = 1
    ) -> None:
        see = spaces.Dict(
            {
                "lamp": spaces.Box(0, 255, (8, 12, 3), np.uint8),
                "rest": spaces.Box(-1, 1, (2,), np.float32),
            }
        )
        self.roles = (Role("player", see, spaces.Discrete(2)),)
        self.seat_names = tuple(f"lamp{seat}" for seat in range(seats))
        self.seat_roles = (0,) * seats
        self._on_step, self._tics = on_step, tics

    def reset(self, seed: int) -> list[SeatTurn]:
        self._step = 0
        return self._turns(0.0, 0)

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._step += 1
        self._on_step(self._step)
        return self._turns(1.0, self._tics)

    def _turns(self, reward: float, tics: int) -> list[SeatTurn]:
        over = self._step == STEPS
        return [
            SeatTurn(
                seat, self._see(seat), None, (reward * (seat == 0),), terminated=over, tics=tics
            )
            for seat in range(len(self.seat_names))
        ]

    def _see(self, seat: int) -> dict[str, Any]:
        lamp = np.zeros((8, 12, 3), np.uint8)
        lamp[:, :, seat % 3] = 100 + 30 * self._step
        return {"lamp": lamp, "rest": np.zeros(2, np.float32)}

    def points_now(self) -> tuple[float, ...]:
        return tuple(float(self._step * (seat == 0)) for seat in range(len(self.seat_names)))

    def outcome(self) -> Outcome:
        return Outcome((0, *(1,) * (len(self.seat_names) - 1)), self.points_now())

    def close(self) -> None:
        pass


def lamps(make: Callable[..., Lamps] = Lamps, tics_per_s: float | None = None) -> EnvSpec:
    return EnvSpec(
        "lamps", make, chance=True, replayable=True, winners="seat 0", tics_per_s=tics_per_s
    )


def random_players(number: int) -> list[ResolvedPlayer]:
    return [
        ResolvedPlayer(PlayerRef("scripted", "random"), f"random{index}", "lamps", {})
        for index in range(number)
    ]
