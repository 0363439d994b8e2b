"""All hands of Leduc poker as arrays: exact values of policies against each other, and drawn hands.

A deal is three of six cards in order: the card of seat 0, that of seat 1, and the public card. All
120 deals are equally likely. What the seats do after a deal ends in one of T endings, which are the
same for every deal. A policy is a table as in `arena.players.information_states`. Of a policy only
its reach counts, [2, 120, T]: the probability that its own actions in a seat lead to an ending.

The two hands of a deal pair have one deal, with the seats swapped; the actions of both are drawn
apart, as `arena match` does.
"""

from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.players.information_states import InformationStates, Table

Floats = NDArray[np.float64]
LEDUC = "leduc_poker"
CARDS, DEALT = 6, 3


class _Ending(NamedTuple):
    """One way in which a hand ends.

    actions  of both seats, in order
    choices  by seat: places of its own choices in a table, flattened
    won      what seat 0 won, in chips
    """

    actions: tuple[int, ...]
    choices: tuple[tuple[int, ...], tuple[int, ...]]
    won: float


@dataclass(frozen=True, slots=True)
class PairLaw:
    """The distribution of what one policy wins of another, in chips a hand.

    margins  [M] the possible means of a deal pair, ascending
    chances  [M] their probabilities
    value    the mean
    swapped  variance of a deal pair
    apart    variance of the same mean, if the two hands had deals of their own
    """

    margins: Floats
    chances: Floats
    value: float
    swapped: float
    apart: float


class Hands:
    """Every ending of every deal.

    states  the information states of Leduc poker
    won     [120, T] what seat 0 won, in chips
    """

    def __init__(self, states: InformationStates) -> None:
        deals = [_endings(states, deal) for deal in permutations(range(CARDS), DEALT)]
        assert len({tuple(ending.actions for ending in deal) for deal in deals}) == 1
        longest = max(len(own) for deal in deals for ending in deal for own in ending.choices)
        # One place beyond the table, whose probability is 1, fills up what is shorter.
        beyond = (states.legal.size,) * longest
        self._places = np.array(
            [
                [[(*ending.choices[seat], *beyond)[:longest] for ending in deal] for deal in deals]
                for seat in range(2)
            ]
        )
        self.won: Floats = np.array([[ending.won for ending in deal] for deal in deals])
        self._values, self._value_of = np.unique(self.won, return_inverse=True)
        self._value_of = self._value_of.reshape(self.won.shape)

    def reach(self, policy: Table) -> Floats:
        """[2, 120, T] the probability that the policy's own actions in a seat lead to an ending."""
        reach: Floats = np.append(policy.ravel(), 1.0)[self._places].prod(axis=-1)
        return reach

    def law(self, a: Floats, b: Floats) -> PairLaw:
        """What the policy of reach `a` wins of that of `b`, exactly."""
        first = self._by_value(a[0] * b[1])
        second = self._by_value(b[0] * a[1])
        # What seat 0 wins, seat 1 loses.
        margins = (self._values[:, None] - self._values[None, :]) / 2
        joint = first.T @ second / len(first)
        found, place = np.unique(margins, return_inverse=True)
        chances = np.zeros(len(found))
        np.add.at(chances, place.ravel(), joint.ravel())
        value = float(found @ chances)
        alone = [self._variance(chance.mean(axis=0)) for chance in (first, second)]
        return PairLaw(
            found, chances, value, float(found**2 @ chances) - value**2, float(sum(alone)) / 4
        )

    def _by_value(self, chances: Floats) -> Floats:
        """[120, V] the probability of each amount that seat 0 wins. chances: [120, T]"""
        counted = np.zeros((len(chances), len(self._values)))
        np.add.at(counted, (np.arange(len(chances))[:, None], self._value_of), chances)
        return counted

    def _variance(self, chances: Floats) -> float:
        mean = self._values @ chances
        return float(self._values**2 @ chances - mean**2)

    def drawn(
        self, a: Floats, b: Floats, pairs: int, rng: np.random.Generator, *, swapped: bool = True
    ) -> Floats:
        """[pairs, 2] what `a` won of `b`, in seat 0 and in seat 1. a, b: reaches

        swapped  both hands have the same deal; else each has one of its own
        """
        deals = rng.integers(len(self.won), size=(pairs, 2))
        if swapped:
            deals[:, 1] = deals[:, 0]
        first = self._ended(a[0] * b[1], deals[:, 0], rng)
        second = self._ended(b[0] * a[1], deals[:, 1], rng)
        return np.stack([first, -second], axis=1)

    def _ended(self, chances: Floats, deals: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """What seat 0 won in hands of these deals. chances: [120, T] of the endings"""
        cumulative = chances.cumsum(axis=1)
        # Deal d has the numbers from d to d + 1, so that one search finds the endings of all.
        line = cumulative / cumulative[:, -1:] + np.arange(len(chances))[:, None]
        places = np.searchsorted(line.ravel(), deals + rng.random(len(deals)), side="right")
        won: Floats = self.won.ravel()[places]
        return won


def _endings(states: InformationStates, deal: tuple[int, ...]) -> list[_Ending]:
    """The endings of a deal, in the order of a walk through the game."""
    found: list[_Ending] = []

    def walk(state: Any, dealt: int, actions: tuple[int, ...], choices: Any) -> None:
        if state.is_terminal():
            found.append(_Ending(actions, choices, state.returns()[0]))
        elif state.is_chance_node():
            walk(state.child(deal[dealt]), dealt + 1, actions, choices)
        else:
            seat, row = state.current_player(), states.index(state)
            for action in state.legal_actions():
                own = (*choices[seat], row * states.legal.shape[1] + action)
                both = (own, choices[1]) if seat == 0 else (choices[0], own)
                walk(state.child(action), dealt, (*actions, action), both)

    walk(states.game.new_initial_state(), 0, (), ((), ()))
    return found
