"""Exploitability of networks and of their mixtures, by OpenSpiel, in games of two.

Exploitability is what a best response wins against a policy. A policy is a table [information
states, actions] of probabilities. A mixture draws one of its policies before the game and keeps to
it. In games of perfect recall a single policy is equivalent (Kuhn 1953, "Extensive games and the
problem of information"): it weighs each policy at an information state by the probability that its
own actions lead there; the plain mean of action probabilities would be another policy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from arena.players.chances import answers
from pbt.errors import EnvError
from pbt.models.policy_model import PolicyModel

Table = NDArray[np.float64]
_SEQUENCES = 4096
"""So many go through a network at once."""


class InformationStates:
    """All information states of a game, in an order in which a seat's earlier ones come first.

    game       OpenSpiel's game
    histories  the number of nodes of the game's tree
    rows       OpenSpiel's text of an information state -> its row
    tensors    [S, ...] float32, what the acting seat sees
    legal      [S, A] bool, the legal actions
    Raises: EnvError unless it is a zero-sum game of two that move in turn and forget nothing, whose
    tree can be walked and has no more nodes than the limit.
    """

    def __init__(self, game: pyspiel.Game, most_histories: int | None = None) -> None:
        _check_kind(game)
        self.game, self.histories = game, 0
        kind = game.get_type()
        self._sees = (
            "information_state_tensor"
            if kind.provides_information_state_tensor
            else "observation_tensor"
        )
        self.rows: dict[str, int] = {}
        # Of each information state: whose it is, and the row and action of the own decision before.
        self._before: list[tuple[int, tuple[int, int] | None]] = []
        tensors: list[NDArray[np.float32]] = []
        legal: list[NDArray[np.bool_]] = []
        shape = getattr(game, f"{self._sees}_shape")()
        for state, before in self._walked(most_histories):
            seat = state.current_player()
            seen = getattr(state, self._sees)(seat)
            tensors.append(np.asarray(seen, np.float32).reshape(shape))
            legal.append(np.asarray(state.legal_actions_mask(seat), np.bool_))
            self._before.append((seat, before))
        self.tensors, self.legal = np.stack(tensors), np.stack(legal)
        self._rounds = self._by_decision()

    def _walked(self, most: int | None) -> Any:
        """(state, the seat's own decision before) of each new information state."""
        own: tuple[tuple[int, int] | None, ...] = (None, None)
        waiting = [(self.game.new_initial_state(), own)]
        while waiting:
            state, own = waiting.pop()
            self.histories += 1
            if most is not None and self.histories > most:
                raise EnvError(
                    f"{_name(self.game)} has more than {most} histories; expected a smaller game, "
                    "since exploitability needs its whole tree; --most-histories (most_histories "
                    "in Python) allows more"
                )
            if state.is_terminal():
                continue
            if state.is_chance_node():
                waiting += [(state.child(chance), own) for chance in state.legal_actions()]
                continue
            seat, key = state.current_player(), state.information_state_string()
            if (row := self.rows.setdefault(key, len(self.rows))) == len(self._before):
                yield state, own[seat]
            if self._before[row] != (seat, own[seat]):
                raise EnvError(
                    f"{_name(self.game)}: a seat forgets what it did before {key!r}; expected a "
                    "game of perfect recall, since others have no such best response"
                )
            for action in state.legal_actions():
                taken = (row, action)
                both = (taken, own[1]) if seat == 0 else (own[0], taken)
                waiting.append((state.child(action), both))

    def _by_decision(self) -> list[NDArray[np.intp]]:
        """The rows of first own decisions, of second ones, and so on."""
        number: list[int] = []
        for _, before in self._before:
            number.append(0 if before is None else number[before[0]] + 1)
        numbers = np.array(number)
        return [np.flatnonzero(numbers == one) for one in range(numbers.max() + 1)]

    def index(self, state: pyspiel.State) -> int:
        """The row of the information state of the acting seat."""
        return self.rows[state.information_state_string()]

    def uniform(self) -> Table:
        """The policy that takes every legal action equally often."""
        table: Table = self.legal / self.legal.sum(axis=1, keepdims=True)
        return table

    def policy_of(self, model: PolicyModel) -> Table:
        """The policy of a network as it plays, [S, A].

        A network with a memory is shown what the seat saw at its earlier decisions, too, on which
        alone its memory depends.
        """
        longest = len(self._rounds) if model.state_size else 1
        table = np.zeros(self.legal.shape)
        for first in range(0, len(table), _SEQUENCES):
            chunk = range(first, min(first + _SEQUENCES, len(table)))
            rows = np.zeros((longest, len(chunk)), np.intp)
            starts = np.zeros((longest, len(chunk)), np.bool_)
            for place, row in enumerate(chunk):
                sequence = self._sequence(row)[-longest:]
                rows[longest - len(sequence) :, place] = sequence
                starts[longest - len(sequence), place] = True
            seen = {"observation": self.tensors[rows]}
            table[chunk] = answers(model, seen, self.legal[rows], starts).chances
        return table

    def _sequence(self, row: int) -> list[int]:
        """The rows of the seat's decisions up to this one."""
        sequence, before = [row], self._before[row][1]
        while before is not None:
            sequence.append(before[0])
            before = self._before[before[0]][1]
        return sequence[::-1]

    def reach(self, policy: Table) -> NDArray[np.float64]:
        """[S] probability that the acting seat's own actions lead to the state."""
        reach = np.ones(len(policy))
        for rows in self._rounds[1:]:
            earlier, taken = np.array([self._before[row][1] for row in rows]).T
            reach[rows] = reach[earlier] * policy[earlier, taken]
        return reach

    def mixing(self) -> "PolicyMixture":
        """A mixture of no policy yet."""
        return PolicyMixture(self)

    def mixture(self, policies: Sequence[Table], weights: Sequence[float] | None = None) -> Table:
        """The policy that plays like one of these, drawn before the game.

        weights  of the policies; None for equal ones
        The policy is uniform at states that none of them reaches.
        """
        mixed = self.mixing()
        for policy, weight in zip(policies, weights or [1.0] * len(policies), strict=True):
            mixed.add(policy, weight)
        return mixed.table()

    def table_of(self, policy: pyspiel.Policy) -> Table:
        """A policy of OpenSpiel as a table."""
        table = np.zeros(self.legal.shape)
        for key, row in self.rows.items():
            for action, probability in policy.action_probabilities(key).items():
                table[row, action] = probability
        return table

    def exploitability(self, policy: Table) -> float:
        """What a best response wins against the policy, per game, in the mean over the seats.

        That is NashConv over the number of players, in the game's own units; 0 at an equilibrium.
        """
        told = {
            key: [(action, policy[row, action]) for action in np.flatnonzero(self.legal[row])]
            for key, row in self.rows.items()
        }
        return float(pyspiel.nash_conv(self.game, told)) / 2


class PolicyMixture:
    """A mixture to which policies are added one after the other. size: how many were."""

    def __init__(self, states: InformationStates) -> None:
        self._states, self.size = states, 0
        self._shares, self._total = np.zeros(states.legal.shape), np.zeros(len(states.legal))

    def add(self, policy: Table, weight: float = 1.0) -> None:
        reach = weight * self._states.reach(policy)
        self.size += 1
        self._shares += reach[:, None] * policy
        self._total += reach

    def table(self) -> Table:
        """The policy that plays like one of those added; as `InformationStates.mixture`."""
        reached = self._total[:, None] > 0
        total = np.where(reached, self._total[:, None], 1.0)
        table: Table = np.where(reached, self._shares / total, self._states.uniform())
        return table


def _name(game: pyspiel.Game) -> str:
    return f"openspiel:{game.get_type().short_name}"


def _check_kind(game: pyspiel.Game) -> None:
    """Raises: EnvError for a game that has no exploitability, or none that can be computed."""
    kind, name = game.get_type(), _name(game)
    expected = "expected a game whose exploitability a walk through its tree can find"
    if game.num_players() != 2:
        raise EnvError(f"{name} has {game.num_players()} players; expected a game of two")
    if kind.utility != kind.Utility.ZERO_SUM:
        raise EnvError(
            f"{name} is {kind.utility.name.lower().replace('_', '-')}; expected a zero-sum game, "
            "where what a best response wins is what the policy loses"
        )
    if kind.dynamics != kind.Dynamics.SEQUENTIAL:
        raise EnvError(f"{name}: both players move at once; {expected}: env.options.turn_based")
    if kind.chance_mode == kind.ChanceMode.SAMPLED_STOCHASTIC:
        raise EnvError(f"{name} does not tell the chances of its draws; {expected}")
    if not kind.provides_information_state_string:
        raise EnvError(f"{name} does not tell what a seat knows; {expected}")
