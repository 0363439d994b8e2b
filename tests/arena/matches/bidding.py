"""A game for three: everybody names a number at once, the highest wins. Its scripted players are
told apart by what they like to name.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn, ranking_from_scores
from pbt.records import PlayerRef

SEATS = 3
NUMBERS = 5


class Bidding:
    roles = (Role("bidder", spaces.Discrete(2), spaces.Discrete(NUMBERS)),)
    seat_names = tuple(f"bidder_{seat}" for seat in range(SEATS))
    seat_roles = (0,) * SEATS
    reward_terms = ("reward",)

    def __init__(self) -> None:
        self.named: tuple[int, ...] = ()

    def reset(self, seed: int) -> list[SeatTurn]:
        return [SeatTurn(seat, seed % 2, None, (0.0,), tics=0) for seat in range(SEATS)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self.named = tuple(actions[seat][0] for seat in range(SEATS))
        return [
            SeatTurn(seat, 0, None, (float(number),), terminated=True)
            for seat, number in enumerate(self.named)
        ]

    def outcome(self) -> Outcome:
        return Outcome(ranking_from_scores(self.named))

    def close(self) -> None:
        """Nothing is held."""


def naming(
    low: int, high: int
) -> Callable[
    [Mapping[str, NDArray[Any]], NDArray[np.bool_], NDArray[np.float64]], NDArray[np.int64]
]:
    """A player that names one of low ... high, each as often."""
    return lambda observations, mask, uniforms: low + (uniforms * (high - low + 1)).astype(np.int64)


SPEC = EnvSpec(
    "bidding", Bidding, chance=True, replayable=True, winners="the highest number",
    scripted={"modest": naming(0, 2), "middling": naming(1, 3), "bold": naming(2, 4)},
)  # fmt: skip
UNREPEATABLE = replace(SPEC, replayable=False)


def bidder(name: str) -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("scripted", name), name, "bidding", {})


MODEST, MIDDLING, BOLD = bidder("modest"), bidder("middling"), bidder("bold")
