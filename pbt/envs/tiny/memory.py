"""Memory: the game shows a cue at the first step and asks for it some steps later.

Only a policy with memory does better than guessing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn
from pbt.seeding import integer


class Memory:
    """One seat. The answer to the question gives 1 if it names the cue, else 0.

    Every other action is without effect. The best return is 1 with memory and 1 / cues without. The
    observation is [cues + 1] float32: the cue one-hot at step 0, zeros while waiting, 1 in the last
    place at the question.

    cues   how many different cues there are
    delay  steps between the cue and the question
    """

    def __init__(self, cues: int = 3, delay: int = 4) -> None:
        sees = spaces.Box(0.0, 1.0, (cues + 1,), np.float32)
        self.roles: tuple[Role, ...] = (Role("player", sees, spaces.Discrete(cues)),)
        self.seat_names: tuple[str, ...] = ("player",)
        self.seat_roles: tuple[int, ...] = (0,)
        self.reward_terms: tuple[str, ...] = ("reward",)
        self._cues, self._delay = cues, delay

    def reset(self, seed: int) -> list[SeatTurn]:
        self._cue = integer(seed, "memory", "cue") % self._cues
        self._step = 0
        return [SeatTurn(0, self._view(self._cue), None, (0.0,), tics=0)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        is_question = self._step == self._delay
        self._step += 1
        reward = float(is_question and actions[0][0] == self._cue)
        view = self._view(self._cues if self._step == self._delay else None)
        return [SeatTurn(0, view, None, (reward,), terminated=is_question)]

    def _view(self, index: int | None) -> Any:
        observation = np.zeros(self._cues + 1, np.float32)
        if index is not None:
            observation[index] = 1.0
        return observation

    def outcome(self) -> Outcome:
        return Outcome((0,))

    def close(self) -> None:
        pass


SPEC = EnvSpec(
    name="memory",
    make=Memory,
    chance=True,
    replayable=True,
    winners="one seat: no player wins, the return counts",
    objective="return",
    description=(
        "A cue to be remembered for some steps; only a recurrent policy does better than guessing"
    ),
)
