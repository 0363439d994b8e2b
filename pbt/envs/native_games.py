"""Games in C: many tables are stepped by one call (pbt/native/table_game.h).

`NativeTables` plays them in columns. `NativeGame` is one table of such a game, for replays, boards
and checks. Where no library was built, the game's Python twin plays.
"""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import Action, Outcome, Role, SeatTurn
from pbt.envs.groups import Turns
from pbt.errors import EnvError
from pbt.native import TableGame, table_game

Indices = NDArray[np.int64]
FORBIDDEN = -1
"""The seat of a turn of table_game.h whose action the rules forbid."""


@dataclass(frozen=True)
class NativeRules:
    """What must be known of a game in C to play it.

    Its observation is one array, all its seats are of one role with masks, an action is one choice,
    and it has no reward but the game's own.

    name        of the game; what follows the colon, if there is one, is that of its library
    role        of every seat
    seat_names  by seat
    shows_end   whether seats see how the game ended
    """

    name: str
    role: Role
    seat_names: tuple[str, ...]
    shows_end: bool = True

    def code(self) -> TableGame | None:
        """Its functions; None where they were not built."""
        return table_game(self.name.rpartition(":")[2])


class _Columns(ctypes.Structure):
    """`Turns` of table_game.h."""

    _fields_ = [
        (name, ctypes.c_void_p) for name in ("position", "seat", "reward", "terminated", "tics")
    ]


class NativeTables:
    """The games of some tables, in arrays. See table_game.h."""

    def __init__(self, rules: NativeRules, tables: int) -> None:
        code = rules.code()
        if code is None:
            raise EnvError(f"game {rules.name!r} was not built; run python hatch_build.py")
        self.rules, self._code, self._seats = rules, code, len(rules.seat_names)
        self._state = np.zeros((tables, code.table_bytes), np.uint8)
        # The room for a call's turns is kept; what is given out is a copy.
        room = tables * self._seats
        self._position, self._seat = np.zeros(room, np.int64), np.zeros(room, np.int64)
        self._reward, self._terminated = np.zeros(room), np.zeros(room, np.bool_)
        self._tics = np.zeros(room, np.int64)
        columns = self._position, self._seat, self._reward, self._terminated, self._tics
        self._columns = _Columns(*(column.ctypes.data for column in columns))
        self._out, self._at = ctypes.addressof(self._columns), self._state.ctypes.data

    def begin(self, positions: Indices, seeds: Indices) -> Turns:
        """Start games. positions, seeds: [N]."""
        held, given = _plain(positions, seeds)
        return self._turns(self._code.begin(len(held[0]), *given, self._at, self._out))

    def step(self, positions: Indices, seats: Indices, actions: Indices) -> Turns:
        """Act. A forbidden action gives a turn of seat -1. positions, seats, actions: [N]."""
        held, given = _plain(positions, seats, actions)
        return self._turns(self._code.step(len(held[0]), *given, self._at, self._out))

    def observe(
        self,
        positions: Indices,
        seats: Indices,
        places: Indices,
        observations: int,
        masks: int,
    ) -> None:
        """Write what seats see at these places of the columns at two addresses."""
        held, given = _plain(positions, seats, places)
        self._code.observe(len(held[0]), *given, self._at, observations, masks)

    def outcomes(self, positions: Indices) -> list[Outcome]:
        """How games ended that are over. positions: [N]."""
        ranking = np.zeros((len(positions), self._seats), np.int64)
        held, given = _plain(positions)
        self._code.rank(len(held[0]), *given, self._at, ranking.ctypes.data)
        return [_ranked(tuple(places)) for places in ranking.tolist()]

    def copy(self, positions: Indices, source: "NativeTables", sources: Indices) -> None:
        """Make games of these tables the same as those of others, as they stand now.

        What chance brings is the same, too: it was decided when the game began.

        positions  [N], each once
        source     tables of the same rules, also these
        sources    [N], its positions
        Raises: EnvError for tables of another game.
        """
        if source.rules is not self.rules:
            raise EnvError(
                f"a table of {source.rules.name!r} copied to one of {self.rules.name!r}; expected "
                "tables of one game"
            )
        self._state[positions] = source._state[sources]

    def _turns(self, made: int) -> Turns:
        terminated = self._terminated[:made].copy()
        return Turns(
            self._position[:made].copy(),
            self._seat[:made].copy(),
            self._reward[:made, None].copy(),
            terminated,
            np.zeros(made, np.bool_),
            self._tics[:made].copy(),
            np.ones(made, np.bool_) if self.rules.shows_end else ~terminated,
        )


@cache
def _ranked(places: tuple[int, ...]) -> Outcome:
    return Outcome(places)


def _plain(*columns: Indices) -> tuple[list[Indices], list[int]]:
    """Columns in the form that C reads, to be held during the call, and their addresses."""
    held = [np.ascontiguousarray(column, np.int64) for column in columns]
    return held, [column.ctypes.data for column in held]


_METHODS = frozenset({"reset", "step", "outcome", "close"})


class NativeGame:
    """One table of a game in C, as `pbt.envs.contract.Game`.

    A subclass that says `plays_in_c` itself does not change how the game goes.
    """

    plays_in_c = True

    def __init__(self, rules: NativeRules) -> None:
        self.rules, self._tables = rules, NativeTables(rules, 1)
        self.roles: tuple[Role, ...] = (rules.role,)
        self.seat_names, self.seat_roles = rules.seat_names, (0,) * len(rules.seat_names)
        self.reward_terms: tuple[str, ...] = ("reward",)
        space = rules.role.observation_space
        self._shape, self._dtype = space.shape, space.dtype
        self._actions = int(rules.role.action_space.n)  # type: ignore[attr-defined]
        self._due: int | None = None

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start a game."""
        return self._seen(self._tables.begin(np.zeros(1, np.int64), np.array([seed])))

    def step(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        """Act. Raises: EnvError for a seat that is not due, and for a forbidden action."""
        if list(actions) != [self._due]:
            due = [] if self._due is None else [self._due]
            raise EnvError(
                f"game {self.rules.name!r}: actions for seats {sorted(actions)}; expected exactly "
                f"the seats that are due, {due}"
            )
        ((seat, action),) = actions.items()
        turns = self._tables.step(*(np.array([one]) for one in (0, seat, action[0])))
        if turns.seat[0] == FORBIDDEN:
            raise forbidden(self.rules, seat, action[0], "a game")
        return self._seen(turns)

    def outcome(self) -> Outcome:
        """How the game ended."""
        (outcome,) = self._tables.outcomes(np.zeros(1, np.int64))
        return outcome

    def close(self) -> None:
        """There is nothing to release."""

    def _seen(self, turns: Turns) -> list[SeatTurn]:
        due = turns.seat[~turns.over].tolist()
        self._due = due[0] if due else None
        return shown(self._tables, turns, (self._shape, self._dtype), self._actions)


def shown(
    tables: NativeTables, turns: Turns, observation: tuple[Any, Any], actions: int
) -> list[SeatTurn]:
    """Turns with what the seats see. observation: its shape and dtype."""
    count, over, shows = len(turns.seat), turns.over.tolist(), turns.seen.tolist()
    seen = np.zeros((count, *observation[0]), observation[1])
    masks = np.ones((count, actions), np.bool_)
    places = np.flatnonzero(turns.seen)
    position, seat = turns.position[places], turns.seat[places]
    tables.observe(position, seat, places, seen.ctypes.data, masks.ctypes.data)
    masks[over] = True
    return [
        SeatTurn(
            *(seat, seen[at] if shows[at] else None, masks[at], rewards, over[at], False, tics)
        )
        for at, (seat, rewards, tics) in enumerate(
            zip(turns.seat.tolist(), turns.rewards.tolist(), turns.tics.tolist(), strict=True)
        )
    ]


class ForbiddenActionError(EnvError):
    """An action that the rules of a game in C forbid."""


def forbidden(rules: NativeRules, seat: int, action: int, where: str) -> ForbiddenActionError:
    """The error of an action that the rules forbid. where: the game in words."""
    seat_name = rules.seat_names[seat]
    return ForbiddenActionError(
        f"{where} of {rules.name!r}: {seat_name} chose {action}, which the rules forbid there; "
        "expected an action of the mask"
    )


def native_rules(game: object) -> NativeRules | None:
    """The rules of a game in C; None for a game in Python, also one that changes a game in C.

    A user's file may make a table of one and put functions of its own in place of its methods.
    """
    changed = "plays_in_c" not in vars(type(game)) or not _METHODS.isdisjoint(vars(game))
    return None if changed or not isinstance(game, NativeGame) else game.rules


def native_or(rules: NativeRules, twin: Callable[..., Any]) -> Callable[..., Any]:
    """The function that makes a table: in C, or of the twin in Python where that was not built.

    The twin is made with the options of the game, which the game in C does not have.
    """

    def make(**options: Any) -> Any:
        return twin(**options) if options or rules.code() is None else NativeGame(rules)

    return make
