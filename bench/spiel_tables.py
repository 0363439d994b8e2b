"""Many tables of a game of OpenSpiel, in columns: what games in C are held against.

It calls OpenSpiel more directly than `pbt.envs.adapters.openspiel` does, which a tenth of the time
suffices for. Its chance is drawn from the same seeds.
"""

from typing import Any, NamedTuple

import numpy as np
import pyspiel
from numpy.typing import NDArray

from pbt.envs.adapters.openspiel import drawn
from pbt.envs.contract import ranking_from_scores
from pbt.envs.groups import Turns
from pbt.envs.names import OPENSPIEL
from pbt.envs.native_games import Indices
from pbt.seeding import generator


class SeenTurns(NamedTuple):
    """Turns, and what their seats see; zeros where there is nothing to see.

    observations  [N, ...]
    masks         [N, actions] bytes
    """

    turns: Turns
    observations: NDArray[Any]
    masks: NDArray[np.uint8]


class SpielTables:
    """Games of OpenSpiel that pay at their end alone. name: "openspiel:NAME"."""

    def __init__(self, name: str, tables: int) -> None:
        self._game = pyspiel.load_game(name.removeprefix(OPENSPIEL))
        kind = self._game.get_type()
        assert kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL
        remembers = kind.provides_information_state_tensor
        one = pyspiel.PrivateInfoType.SINGLE_PLAYER
        shows = [pyspiel.IIGObservationType(True, True, one)] if remembers else []
        self._observer = pyspiel._Observation(self._game, self._game.make_observer(*shows, {}))
        self._seen = np.frombuffer(self._observer, np.float32)
        self._seats, self._actions = self._game.num_players(), self._game.num_distinct_actions()
        self._states: list[Any] = [None] * tables
        self._streams: list[Any] = [None] * tables
        self._acted = np.zeros((tables, self._seats), np.int64)

    def begin(self, positions: Indices, seeds: Indices) -> SeenTurns:
        """Start games. positions, seeds: [N]."""
        for position, seed in zip(positions.tolist(), seeds.tolist(), strict=True):
            self._states[position] = self._game.new_initial_state()
            self._streams[position] = generator(seed, "openspiel")
        self._acted[positions] = 0
        return self._turns(positions)

    def step(self, positions: Indices, seats: Indices, actions: Indices) -> SeenTurns:
        """Act. positions, seats, actions: [N]."""
        for position, action in zip(positions.tolist(), actions.tolist(), strict=True):
            self._states[position].apply_action(action)
        self._acted[positions, seats] = 1
        return self._turns(positions)

    def ranking(self, position: int) -> tuple[int, ...]:
        """How a game ended."""
        return ranking_from_scores(self._states[position].returns())

    def _turns(self, positions: Indices) -> SeenTurns:
        rows: list[tuple[int, int, float, bool]] = []
        for position in positions.tolist():
            state = self._states[position]
            while state.is_chance_node():
                uniform = self._streams[position].random()
                state.apply_action(drawn(state.chance_outcomes(), uniform))
            if state.is_terminal():
                rows += [
                    (position, seat, total, True) for seat, total in enumerate(state.returns())
                ]
            else:
                rows.append((position, state.current_player(), 0.0, False))
        observations = np.zeros((len(rows), len(self._seen)), np.float32)
        masks = np.zeros((len(rows), self._actions), np.uint8)
        for at, (position, seat, _, over) in enumerate(rows):
            if not over:
                self._observer.set_from(self._states[position], seat)
                observations[at] = self._seen
                masks[at] = bytearray(self._states[position].legal_actions_mask(seat))
        of, seats, rewards, overs = map(np.array, zip(*rows, strict=True))
        cut, tics = np.zeros(len(rows), np.bool_), self._acted[of, seats]
        turns = Turns(of, seats, rewards[:, None], overs, cut, tics, ~overs)
        return SeenTurns(turns, observations, masks)
