"""Hide and seek: two roles with different observation and action spaces, in turn.

One of three places is locked, drawn from the seed; both sides know which. The hider takes a place
(the locked one gives the hider away), then the seeker looks into one of the two open places or
gives up. Optimal play of either side is a fair coin over the open places: the hider is then found
with probability 1/2 at most, by the seeker's coin 1/2 at least. A uniform hider is found with
probability 2/3 by an optimal seeker; a uniform seeker finds an optimal hider with probability 1/3.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn, ranking_from_scores
from pbt.seeding import integer

PLACES = 3


class HideAndSeek:
    """The game. Found: seeker +1, hider -1; not found: the reverse.

    seat 0  hides. It sees [3] float32 with 1 at the locked place; its action is a place
    seat 1  seeks. It sees the locked place's number; its action is a place, or 3 to give up; the
            mask forbids the locked place
    """

    def __init__(self) -> None:
        self.roles: tuple[Role, ...] = (
            Role("hider", spaces.Box(0.0, 1.0, (PLACES,), np.float32), spaces.Discrete(PLACES)),
            Role("seeker", spaces.Discrete(PLACES), spaces.Discrete(PLACES + 1), masked=True),
        )
        self.seat_names: tuple[str, ...] = ("hider", "seeker")
        self.seat_roles: tuple[int, ...] = (0, 1)
        self.reward_terms: tuple[str, ...] = ("reward",)

    def reset(self, seed: int) -> list[SeatTurn]:
        self._locked = integer(seed, "hide_and_seek", "locked") % PLACES
        self._hidden: int | None = None
        return [SeatTurn(0, self._view(), None, (0.0,), tics=0)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        if self._hidden is None:
            self._hidden = actions[0][0]
            mask = np.ones(PLACES + 1, np.bool_)
            mask[self._locked] = False
            return [SeatTurn(1, self._locked, mask, (0.0,), tics=0)]
        found = self._hidden in (self._locked, actions[1][0])
        self._seeker_return = 1.0 if found else -1.0
        reward, mask = self._seeker_return, np.ones(PLACES + 1, np.bool_)
        return [
            SeatTurn(0, self._view(), None, (-reward,), terminated=True),
            SeatTurn(1, self._locked, mask, (reward,), terminated=True),
        ]

    def _view(self) -> Any:
        return np.eye(PLACES, dtype=np.float32)[self._locked]

    def outcome(self) -> Outcome:
        return Outcome(ranking_from_scores((-self._seeker_return, self._seeker_return)))

    def close(self) -> None:
        pass


SPEC = EnvSpec(
    name="hide_and_seek",
    make=HideAndSeek,
    chance=True,
    replayable=True,
    winners="the seeker wins if the hider is found, else the hider",
    description="Two roles with different spaces, acting in turn; exact value 1/2",
    objective="win",
)
