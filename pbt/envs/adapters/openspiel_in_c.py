"""Games of OpenSpiel that are played in C: leduc_poker, othello and hex, without options.

OpenSpiel's own game plays with options, where there is no compiler, and where another version of
OpenSpiel shows seats something else. It also tells positions and moves in words.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from gymnasium import spaces

from pbt.envs.contract import Action, Game, Readable, Role, SeatTurn, Sharing
from pbt.envs.names import OPENSPIEL
from pbt.envs.native_games import NativeGame, NativeRules
from pbt.objective import ObjectiveKind


def _rules(name: str, seen: tuple[int, ...], actions: int) -> NativeRules:
    space = spaces.Box(-np.inf, np.inf, seen, np.float32)
    role = Role("player", space, spaces.Discrete(actions), masked=True)
    return NativeRules(OPENSPIEL + name, role, ("player_0", "player_1"), shows_end=False)


RULES: Mapping[str, NativeRules] = {
    rules.name: rules
    for rules in (
        _rules("leduc_poker", (30,), 3),
        _rules("othello", (3, 8, 8), 65),
        _rules("hex", (9, 11, 11), 121),
    )
}
"""By the name of the game."""


class TwinGame(Game, Readable, Sharing, Protocol):
    """The same game, played by OpenSpiel."""

    @property
    def objective_kind(self) -> ObjectiveKind: ...


class OpenSpielGameInC(NativeGame):
    """A game of OpenSpiel in C, which OpenSpiel's own game puts into words.

    twin  OpenSpiel's own game, which is moved on when words are asked for
    """

    plays_in_c = True

    def __init__(self, rules: NativeRules, twin: TwinGame) -> None:
        super().__init__(rules)
        self.twin, self._seed = twin, 0
        self._moves: list[Mapping[int, Action]] = []
        self._told: int | None = None
        """How many of the moves the twin has made; None before it has begun this game."""

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start a game."""
        self._seed, self._moves, self._told = seed, [], None
        return super().reset(seed)

    def step(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        """Act. Raises: EnvError for a seat that is not due, and for a forbidden action."""
        turns = super().step(actions)
        self._moves.append(dict(actions))
        return turns

    @property
    def objective_kind(self) -> ObjectiveKind:
        """By OpenSpiel's utility."""
        return self.twin.objective_kind

    def shares_rewards(self) -> bool:
        """Whether OpenSpiel says so of the game."""
        return self.twin.shares_rewards()

    def position(self) -> str | None:
        """OpenSpiel's own text; None where seats hide something from each other."""
        return self._moved_twin().position()

    def action_name(self, seat: int, action: Action) -> str:
        """OpenSpiel's own name of the action."""
        return self._moved_twin().action_name(seat, action)

    def _moved_twin(self) -> TwinGame:
        if self._told is None:
            self.twin.reset(self._seed)
            self._told = 0
        for move in self._moves[self._told :]:
            self.twin.step(move)
        self._told = len(self._moves)
        return self.twin


def in_c(name: str, twin: TwinGame) -> Game:
    """The game in C where there is one that is like its twin, else the twin."""
    rules = RULES.get(name)
    if rules is None or rules.code() is None or twin.roles != (rules.role,):
        return twin
    return OpenSpielGameInC(rules, twin)
