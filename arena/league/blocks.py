"""Training games in columns, of which `arena.league.block_bytes` makes the one row of a block.

Columns are numpy arrays, since a quick training ends thousands of games a second. They are made of
what a training tells (`arena.league.told_games`), or of records.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.league.rows import trajectory_of
from arena.league.schema import MAX_NUMBER, UNKNOWN_VERSION
from pbt.errors import EngineError
from pbt.records import GameRecord, PlayerRef

BLOCK_GAMES = 4096
"""Most games of a block."""
NONE = int(np.iinfo(np.int64).min)
"""Stands for None among whole numbers."""

_RECORDED = ("environment", "count", "number", "seed", "steps", "frames", "greedy", "opening_plies")
_OF_SEATS = ("generation", "version_end", "place")
_SEATS, _PLAYER = attrgetter("seats"), attrgetter("player")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BlockColumns:
    """Training games, by ascending number; at least one.

    games    column -> [games] values of `GameRecord`; NONE in `pair` is None. `reason` is a place
             in `reasons`, `seated` the number of seats
    seats    column -> [seats] values of `SeatRecord`, game by game; UNKNOWN_VERSION in
             `version_start` is None. `player` is a place in `players`
    returns  [seats] unshaped sums of rewards
    points   [seats] the games' own counts, nan is None
    reasons  words why games ended, in the order in which they first come
    players  ids of players, in the order in which they first sit
    hashes   [games] hashes of trajectories
    actions  [games] packed actions; empty where no game has any
    """

    games: Mapping[str, Ints]
    seats: Mapping[str, Ints]
    returns: Floats
    points: Floats
    reasons: Sequence[str]
    players: Sequence[int]
    hashes: Sequence[bytes]
    actions: Sequence[bytes | None]

    @property
    def numbers(self) -> Ints:
        """[games] their numbers."""
        return self.games["number"]

    @property
    def game_of_seat(self) -> Ints:
        """[seats] the place of each seat's game."""
        return np.repeat(np.arange(len(self.numbers)), self.games["seated"])

    @property
    def first_seats(self) -> Ints:
        """[games] the place of each game's first seat."""
        seated = self.games["seated"]
        return np.cumsum(seated) - seated

    def part(self, places: Ints) -> "BlockColumns":
        """Some of the games, at least one, in this order. places: of the games."""
        seated = self.games["seated"][places]
        behind = np.arange(int(seated.sum())) - np.repeat(np.cumsum(seated) - seated, seated)
        seats = np.repeat(self.first_seats[places], seated) + behind
        reason, reasons = _used(self.games["reason"][places], self.reasons)
        player, players = _used(self.seats["player"][seats], self.players)
        return BlockColumns(
            {**{name: one[places] for name, one in self.games.items()}, "reason": reason},
            {**{name: one[seats] for name, one in self.seats.items()}, "player": player},
            self.returns[seats],
            self.points[seats],
            reasons,
            players,
            [self.hashes[place] for place in places.tolist()],
            [self.actions[place] for place in places.tolist()] if self.actions else [],
        )


def joined(parts: Sequence[BlockColumns]) -> BlockColumns:
    """All games of several, by ascending number; equal numbers stay in their order."""
    whole = parts[0] if len(parts) == 1 else _behind_each_other(parts)
    if (np.diff(whole.numbers) > 0).all():
        return whole
    return whole.part(np.argsort(whole.numbers, kind="stable"))


def _behind_each_other(parts: Sequence[BlockColumns]) -> BlockColumns:
    reasons = list(dict.fromkeys(chain.from_iterable(part.reasons for part in parts)))
    players = list(dict.fromkeys(chain.from_iterable(part.players for part in parts)))
    games = {name: np.concatenate([part.games[name] for part in parts]) for name in parts[0].games}
    seats = {name: np.concatenate([part.seats[name] for part in parts]) for name in parts[0].seats}
    games["reason"] = np.concatenate(
        [_recoded(part.games["reason"], part.reasons, reasons) for part in parts]
    )
    seats["player"] = np.concatenate(
        [_recoded(part.seats["player"], part.players, players) for part in parts]
    )
    kept = any(part.actions for part in parts)
    return BlockColumns(
        games,
        seats,
        np.concatenate([part.returns for part in parts]),
        np.concatenate([part.points for part in parts]),
        reasons,
        players,
        [one for part in parts for one in part.hashes],
        [one for part in parts for one in part.actions or [None] * len(part.numbers)] * kept,
    )


def _recoded(codes: Ints, values: Sequence[Any], others: Sequence[Any]) -> Ints:
    """The places among others of what stands at these places among values."""
    return np.array([others.index(value) for value in values], np.int64)[codes]


def _used(codes: Ints, values: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Only those values that have a place among the codes, in the order in which they come."""
    present, first, which = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[which], [values[place] for place in present[order].tolist()]


def columns_of(records: Sequence[GameRecord], id_of: Callable[[PlayerRef], int]) -> BlockColumns:
    """The columns of training games, at least one, in the order in which they come.

    id_of  the id of a player in the league
    Raises: EngineError on a number that does not fit into a key, on a trajectory hash that is not
    hexadecimal, and on a return that is no number.
    """
    games = {name: _ints(records, name) for name in _RECORDED}
    refuse_numbers(games["number"])
    games["pair"] = np.array(_or_none(records, "pair", NONE), np.int64)
    games["reason"], reasons = coded(map(attrgetter("end_reason"), records))
    of_games = list(map(_SEATS, records))
    games["seated"] = np.fromiter(map(len, of_games), np.int64, len(of_games))
    seated = list(chain.from_iterable(of_games))
    seats = {name: _ints(seated, name) for name in _OF_SEATS}
    seats["version_start"] = np.array(_or_none(seated, "version_start", UNKNOWN_VERSION), np.int64)
    seats["player"], players = coded_players(seated, id_of)
    returns = np.fromiter(map(attrgetter("returns"), seated), np.float64, len(seated))
    refuse_returns(returns, games)
    points = np.array(_or_none(seated, "points", np.nan), np.float64)
    hashes = _hashes(records)
    actions = list(map(attrgetter("actions"), records))
    kept = [] if actions.count(None) == len(actions) else actions
    return BlockColumns(games, seats, returns, points, reasons, players, hashes, kept)


def refuse_numbers(numbers: Ints) -> None:
    """Raises: EngineError on a number that does not fit into a key."""
    if (wrong := numbers[(numbers < 0) | (numbers > MAX_NUMBER)]).size:
        raise EngineError(f"game number {wrong[0]}: expected 0 to {MAX_NUMBER}")


def refuse_returns(returns: Floats, games: Mapping[str, Ints]) -> None:
    """Raises: EngineError on a return that is no number."""
    if (useless := np.isnan(returns)).any():
        number = np.repeat(games["number"], games["seated"])[useless][0]
        raise EngineError(f"game {number}: a seat returned nan; expected a number")


def refuse_one_count_twice(games: Mapping[str, Ints]) -> None:
    """Raises: EngineError on one count of a table for two games."""
    environment, count = games["environment"], games["count"]
    places = environment * (count.max() + 1) + count
    if (np.diff(np.sort(places)) == 0).any():
        _, first = np.unique(places, return_index=True)
        at = next(at for at in range(len(count)) if at not in first)
        raise EngineError(
            f"game {games['number'][at]}: environment {environment[at]}, count {count[at]}, as "
            "another game; expected counts that differ"
        )


def _ints(records: Sequence[Any], name: str) -> Ints:
    return np.fromiter(map(attrgetter(name), records), np.int64, len(records))


def _or_none(records: Sequence[Any], name: str, none: float) -> Any:
    """The values of a field, with `none` for None."""
    values = list(map(attrgetter(name), records))
    missing = values.count(None)
    if missing == len(values):
        return np.full(missing, none)
    return [none if value is None else value for value in values] if missing else values


def coded(values: Iterable[Any]) -> tuple[Ints, list[Any]]:
    """([values] the place of each among the different ones, the different ones)."""
    every = list(values)
    places = {value: place for place, value in enumerate(dict.fromkeys(every))}
    codes = np.fromiter(map(places.__getitem__, every), np.int64, len(every))
    return codes, list(places)


def _hashes(records: Sequence[GameRecord]) -> list[bytes]:
    """As `trajectory_of`, of all games at once where their hashes are equally long."""
    texts = list(map(attrgetter("trajectory_hash"), records))
    size, odd = divmod(len(texts[0]), 2)
    if odd or not size or set(map(len, texts)) != {2 * size}:
        return list(map(trajectory_of, records))
    try:
        content = bytes.fromhex("".join(texts))
    except ValueError:
        content = b""
    if len(content) != size * len(texts):
        return list(map(trajectory_of, records))
    return [content[at : at + size] for at in range(0, len(content), size)]


def coded_players(
    seated: Sequence[Any], id_of: Callable[[PlayerRef], int]
) -> tuple[Ints, list[int]]:
    """([seats] the place of each seat's player, ids of the players).

    Many seats share one object for their player, so that few objects are asked for their ids.
    """
    players = list(map(_PLAYER, seated))
    objects = list(map(id, players))
    different = dict(zip(objects, players, strict=True))
    codes, ids = coded(map(id_of, different.values()))
    place_of = dict(zip(different, codes.tolist(), strict=True))
    return np.fromiter(map(place_of.__getitem__, objects), np.int64, len(objects)), ids
