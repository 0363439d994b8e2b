"""Small games in which places say little: one that is cooperative, one with roles, one of one seat.

In the first all seats name a number at once, and all get a point if it is the same. In the second
two hunters and a prey name a number: each hunter that names the prey's gets a point, and the prey
loses one. In the third a lone seat names a number, and gets a point for a 0.
"""

from collections.abc import Mapping

import numpy as np
from gymnasium import spaces

from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn, ranking_from_scores
from pbt.records import PlayerRef
from tests.arena.matches.bidding import naming

NUMBERS = 2


class _AtOnce:
    """All seats name a number, and the game is over."""

    reward_terms = ("reward",)
    roles: tuple[Role, ...]
    seat_names: tuple[str, ...]
    seat_roles: tuple[int, ...]

    def __init__(self) -> None:
        self._scores: tuple[float, ...] = ()

    def reset(self, seed: int) -> list[SeatTurn]:
        return [
            SeatTurn(seat, seed % 2, None, (0.0,), tics=0) for seat in range(len(self.seat_names))
        ]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._scores = self._scored([actions[seat][0] for seat in range(len(self.seat_names))])
        return [
            SeatTurn(seat, 0, None, (score,), terminated=True)
            for seat, score in enumerate(self._scores)
        ]

    def _scored(self, named: list[int]) -> tuple[float, ...]:
        raise NotImplementedError

    def outcome(self) -> Outcome:
        return Outcome(ranking_from_scores(self._scores))

    def close(self) -> None:
        """Nothing is held."""


class Agreeing(_AtOnce):
    roles = (Role("player", spaces.Discrete(2), spaces.Discrete(NUMBERS)),)
    seat_names = ("left", "middle", "right")
    seat_roles = (0, 0, 0)

    def _scored(self, named: list[int]) -> tuple[float, ...]:
        return (float(len(set(named)) == 1),) * len(named)


class Guessing(_AtOnce):
    roles = Agreeing.roles
    seat_names = ("guesser",)
    seat_roles = (0,)

    def _scored(self, named: list[int]) -> tuple[float, ...]:
        return (float(named[0] == 0),)


class Hunting(_AtOnce):
    roles = (
        Role("hunter", spaces.Discrete(2), spaces.Discrete(NUMBERS)),
        Role("prey", spaces.Discrete(2), spaces.Discrete(NUMBERS)),
    )
    seat_names = ("hunter_0", "hunter_1", "prey")
    seat_roles = (0, 0, 1)

    def _scored(self, named: list[int]) -> tuple[float, ...]:
        caught = [float(number == named[2]) for number in named[:2]]
        return (*caught, -sum(caught))


SCRIPTED = {
    "zero": naming(0, 0),
    "one": naming(1, 1),
    "mostly zero": lambda observations, mask, uniforms: (uniforms > 0.7).astype(np.int64),
}
AGREEING = EnvSpec(
    "agreeing", Agreeing, chance=True, replayable=True, winners="everybody", scripted=SCRIPTED
)
GUESSING = EnvSpec(
    "guessing", Guessing, chance=True, replayable=True, winners="no seat", scripted=SCRIPTED
)
HUNTING = EnvSpec(
    "hunting", Hunting, chance=True, replayable=True, winners="scores", scripted=SCRIPTED
)


def player(name: str, game: str, role: str | None = None) -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("scripted", name), name, game, {}, role=role)
