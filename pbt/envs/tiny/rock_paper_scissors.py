"""Rock, paper, scissors: two seats act at once.

The only equilibrium is uniform play, with value 0.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.contract import EnvSpec, Outcome, Role, ScriptedAct, SeatTurn, ranking_from_scores

NAMES = ("rock", "paper", "scissors")
MOVES = len(NAMES)


class RockPaperScissors:
    """The game. Actions: 0 rock, 1 paper, 2 scissors.

    An observation is 0 at first, then 1 + the opponent's last move.

    rounds  throws per game, each worth 1, 0 or -1
    """

    def __init__(self, rounds: int = 3) -> None:
        player = Role("player", spaces.Discrete(1 + MOVES), spaces.Discrete(MOVES))
        self.roles: tuple[Role, ...] = (player,)
        self.seat_names: tuple[str, ...] = ("player_0", "player_1")
        self.seat_roles: tuple[int, ...] = (0, 0)
        self.reward_terms: tuple[str, ...] = ("reward",)
        self._rounds = rounds

    def reset(self, seed: int) -> list[SeatTurn]:
        self._played = 0
        self._returns = [0.0, 0.0]
        return [SeatTurn(seat, 0, None, (0.0,), tics=0) for seat in (0, 1)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        moves = (actions[0][0], actions[1][0])
        beats = (moves[0] - moves[1]) % MOVES
        first = (0.0, 1.0, -1.0)[beats]
        self._played += 1
        self._returns[0] += first
        self._returns[1] -= first
        over = self._played == self._rounds
        return [
            SeatTurn(seat, 1 + moves[1 - seat], None, (reward,), terminated=over)
            for seat, reward in ((0, first), (1, -first))
        ]

    def outcome(self) -> Outcome:
        return Outcome(ranking_from_scores(self._returns))

    def close(self) -> None:
        pass


def always(move: int) -> ScriptedAct:
    """A scripted player that always makes one move.

    The three together make the smallest circle, which no rating can express.
    """

    def act(
        observation: Mapping[str, NDArray[Any]],
        mask: NDArray[np.bool_],
        uniforms: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        return np.full((len(mask), 1), move, np.int64)

    return act


SPEC = EnvSpec(
    name="rock_paper_scissors",
    make=RockPaperScissors,
    chance=False,
    replayable=True,
    winners="who won more rounds (the ranking of summed rewards)",
    description="Rock, paper, scissors: simultaneous moves, exact equilibrium",
    objective="win",
    scripted={name: always(move) for move, name in enumerate(NAMES)},
)
