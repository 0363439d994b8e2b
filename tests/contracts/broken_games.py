"""Small games that each break one promise, so that the judge of games can be judged."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn, ranking_from_scores

SEEN = spaces.Box(-1.0, 1.0, (2,), np.float32)


class Sound:
    """Two seats in turn, three decisions each, masked. It breaks no promise.

    The seed decides the observations.
    """

    def __init__(self) -> None:
        self.roles: tuple[Role, ...] = (Role("player", SEEN, spaces.Discrete(3), masked=True),)
        self.seat_names: tuple[str, ...] = ("a", "b")
        self.seat_roles: tuple[int, ...] = (0, 0)
        self.reward_terms: tuple[str, ...] = ("reward",)

    def reset(self, seed: int) -> list[SeatTurn]:
        self.rng = np.random.default_rng(seed)
        self.left = 6
        self.returns = [0.0, 0.0]
        return [self.turn(0, tics=0)]

    def turn(self, seat: int, **more: Any) -> SeatTurn:
        return SeatTurn(seat, self.seen(), self.mask(), **{"rewards": (0.0,), **more})

    def seen(self) -> Any:
        return self.rng.uniform(-1, 1, 2).astype(np.float32)

    def mask(self) -> Any:
        return np.array([True, False, True])

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self.left -= 1
        seat = self.left % 2
        self.returns[1 - seat] += actions[1 - seat][0]
        if self.left:
            return [self.turn(seat, tics=1 if self.left < 5 else 0)]
        return [self.turn(s, rewards=(self.returns[s],), terminated=True) for s in (0, 1)]

    def outcome(self) -> Outcome:
        return Outcome(ranking_from_scores(self.returns))

    def close(self) -> None:
        pass


def _with(**methods: Any) -> Callable[[], Any]:
    """A Sound game with some methods replaced."""
    return type("Broken", (Sound,), methods)


def _first_turn(**more: Any) -> Callable[[], Any]:
    return _with(
        reset=lambda self, seed: [*Sound.reset(self, seed)[:0], self.turn(0, **{"tics": 0, **more})]
    )


def _set(**attributes: Any) -> Callable[[], Any]:
    def build() -> Sound:
        game = Sound()
        for key, value in attributes.items():
            setattr(game, key, value)
        return game

    return build


def _step_raises(self: Any, actions: Any) -> Any:
    raise ZeroDivisionError("the game's own mistake")


def _never_ends(self: Any, actions: Any) -> list[SeatTurn]:
    self.left -= 1
    return [self.turn(self.left % 2, tics=1 if self.left < 5 else 0)]


def _again_after_the_end(self: Any, actions: Any) -> list[SeatTurn]:
    self.left -= 1
    return [
        self.turn(0, terminated=self.left == 5),
        *([self.turn(1, tics=0)] if self.left == 5 else []),
    ]


def _no_seat_due(self: Any, actions: Any) -> list[SeatTurn]:
    return [self.turn(0, terminated=True)]


def _unmasked_role() -> Sound:
    game = Sound()
    game.roles = (Role("player", SEEN, spaces.Discrete(3)),)
    return game


_TABLES = itertools.count()


def _unseeded(self: Any, seed: int) -> list[SeatTurn]:
    turns = Sound.reset(self, seed)
    self.rng = np.random.default_rng(next(_TABLES))
    return turns


def _left_over(self: Any, seed: int) -> list[SeatTurn]:
    """What is seen depends on the game before: the generator is made once per table."""
    kept = getattr(self, "rng", None)
    turns = Sound.reset(self, seed)
    self.rng = kept or self.rng
    return turns


BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "observation shape": (
        _with(seen=lambda self: np.zeros(3, np.float32)),
        r"observation has shape \(3,\).*expected \(2,\)",
    ),
    "observation not finite": (
        _with(seen=lambda self: np.full(2, np.nan, np.float32)),
        r"seed 0, step 0: seat 0 \(a\): observation leaf observation is nan at \[0\] \(one of 2",
    ),
    "observation too large": (
        _with(seen=lambda self: np.full(2, 1e37, np.float32)),
        r"observation is 9.99.*e\+36 at .*; expected finite numbers from -1e\+09 to 1e\+09",
    ),
    "observation too large for float32": (
        _with(seen=lambda self: np.array([0.0, 1e299])),
        r"observation is 1e\+299 at \[1\]",
    ),
    "observation of huge integers": (
        _with(seen=lambda self: np.array([2**40, 0])),
        r"observation is 1099511627776 at \[0\]",
    ),
    "rewards too large": (
        _with(step=lambda self, actions: [self.turn(0, rewards=(1e30,))]),
        r"seed 0, step 1: seat 0 \(a\): reward is 1e\+30; expected finite numbers from",
    ),
    "observation type": (_with(seen=lambda self: [0.0, 0.0]), "is a list; expected a numpy array"),
    "observation missing": (_with(seen=lambda self: None), "observation None while it must act"),
    "mask shape": (
        _with(mask=lambda self: np.ones(4, np.bool_)),
        r"mask with shape \(4,\).*expected .*\(3,\)",
    ),
    "mask dtype": (_with(mask=lambda self: np.ones(3, np.int8)), "dtype int8; expected .* bool"),
    "mask missing": (_with(mask=lambda self: None), "mask with NoneType"),
    "mask all zero": (_with(mask=lambda self: np.zeros(3, np.bool_)), "no legal choice in head 0"),
    "mask unannounced": (_unmasked_role, "a mask, though role 'player' is not masked"),
    "rewards not finite": (
        _with(step=lambda self, actions: [self.turn(0, rewards=(np.inf,))]),
        "expected finite",
    ),
    "rewards per term": (_set(reward_terms=("reward", "bonus")), "1 rewards; expected 2"),
    "rewards at reset": (_first_turn(rewards=(1.0,)), "at reset; expected zeros"),
    "tics at reset": (_first_turn(tics=1), "tics 1 at reset"),
    "tics zero": (
        _with(step=lambda self, actions: [self.turn(0, tics=0)]),
        "tics 0 after an action",
    ),
    "seat unknown": (
        _with(step=lambda self, actions: [self.turn(2)]),
        "a turn for seat 2; expected 0 to 1",
    ),
    "seat twice": (
        _with(step=lambda self, actions: [self.turn(0), self.turn(0)]),
        r"turns for seats \[0, 0\]",
    ),
    "turn after the end": (
        _with(step=_again_after_the_end),
        "seat 0 .*: a turn after its episode ended|no seat is due",
    ),
    "no seat due": (_with(step=_no_seat_due), r"no seat is due, yet seats \[1\] are not over"),
    "endless": (_with(step=_never_ends), "no end after 50 steps"),
    "ranking length": (
        _with(outcome=lambda self: Outcome((0,))),
        r"ranking \(0,\); expected one place per seat \(2\)",
    ),
    "ranking gap": (_with(outcome=lambda self: Outcome((1, 2))), r"ranking \(1, 2\)"),
    "points": (_with(outcome=lambda self: Outcome((0, 1), (1.0,))), r"points \(1.0,\)"),
    "raises": (
        _with(step=_step_raises),
        "ZeroDivisionError: the game's own mistake .*seed 0, step 1, seat a",
    ),
    "constructor raises": (lambda: 1 / 0, "building game 'broken' raised ZeroDivisionError"),
    "no seats": (_set(seat_names=(), seat_roles=()), "1 roles and 0 seats"),
    "seat roles": (_set(seat_roles=(0, 1)), r"seat_roles \(0, 1\)"),
    "equal seat names": (_set(seat_names=("a", "a")), "expected each name once"),
    "no reward terms": (_set(reward_terms=()), r"reward_terms \(\)"),
    "actions that are words": (
        _set(roles=(Role("player", SEEN, spaces.Text(3)),)),
        "action space Text is not supported",
    ),
    "not replayable": (_with(reset=_unseeded), "declared replayable, but"),
    "keeps state between games": (_with(reset=_left_over), "declared replayable, but"),
    "chance undeclared": (Sound, "declared chance=False, but"),
    "seed ignored": (
        _with(reset=lambda self, seed: Sound.reset(self, 3)),
        "declared chance=True, but",
    ),
}
"""Name -> (how to build the table, what the report must say)."""


ODD: dict[str, tuple[Callable[[], Any], str]] = {
    "observation dtype": (
        _with(seen=lambda self: self.rng.uniform(-1, 1, 2)),
        "observation leaf observation comes as float64 and is cast to float32",
    ),
    "observation of integers": (
        _with(seen=lambda self: self.rng.integers(0, 2, 2)),
        "observation leaf observation comes as int64 and is cast to float32",
    ),
    "observation range": (
        _with(seen=lambda self: self.rng.permutation([5, 6]).astype(np.float32)),
        "observation leaf observation has values from 5.0 to 6.0, outside its space, -1 to 1; "
        "widen the declared space",
    ),
}
"""Games that keep their promises but for what training puts right, with the warning."""


def broken_spec(name: str) -> EnvSpec:
    return EnvSpec(
        "broken",
        {**BROKEN, **ODD}[name][0],
        chance=name != "chance undeclared",
        replayable=True,
        winners="more points",
    )
