"""What the games of a block are as rows, as records, in the chain's digest, and in totals.

Rows, records and the digest are those that the same games have where each has a row of its own.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.league.blocks import NONE, BlockColumns, Floats, Ints
from arena.league.chain_columns import NamedColumn, digest_columns
from arena.league.chain_rows import GAME_COLUMNS, SEAT_COLUMNS
from arena.league.schema import NUMBER_BITS, TRAINING, UNKNOWN_VERSION
from pbt.records import GameRecord, PlayerRef, SeatRecord, is_voided


def digest_block(incarnation_id: int, block: BlockColumns, names: Mapping[int, str]) -> bytes:
    """The digest of a block's games, which is that of the same games as rows.

    names  id of a player -> its name, as `arena.league.chain_rows.player_name` makes it
    Raises: KeyError for a player without a name.
    """
    games, first_seats = block.games, block.first_seats
    count, seats = len(block.numbers), len(block.returns)
    pairs = [None if pair == NONE else pair for pair in games["pair"].tolist()]
    values: dict[str, Any] = {
        **{f"game.{name}": column for name, column in games.items()},
        "game.incarnation_id": np.full(count, incarnation_id),
        "game.match_id": (),
        "game.kind": np.full(count, TRAINING),
        "game.end_reason": [block.reasons[place] for place in games["reason"].tolist()],
        "game.pair": pairs if pairs.count(None) < count else (),
        "game.trajectory_hash": block.hashes,
        "game.actions": block.actions,
        **{f"seat.{name}": column for name, column in block.seats.items()},
        "seat.game_id": np.repeat(incarnation_id << NUMBER_BITS | block.numbers, games["seated"]),
        "seat.seat": np.arange(seats) - np.repeat(first_seats, games["seated"]),
        "seat.returns": block.returns,
        "seat.points": _points(block) if not np.isnan(block.points).all() else (),
    }
    return digest_columns(
        [
            *(NamedColumn(name, kind, values[name]) for _, name, kind in GAME_COLUMNS),
            *(NamedColumn(name, kind, values[name]) for _, name, kind in SEAT_COLUMNS),
            NamedColumn("seat.player", "i", block.seats["player"]),
            NamedColumn("players", "t", [names[player] for player in block.players]),
        ]
    )


def digest_found_of(incarnation_id: int, block: BlockColumns, names: Mapping[int, str]) -> bytes:
    """As `digest_block`, of games that may have been altered: 32 zero bytes for unusable values."""
    try:
        return digest_block(incarnation_id, block, names)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return bytes(32)


def _points(block: BlockColumns) -> list[float | None]:
    return [None if value != value else value for value in block.points.tolist()]  # nan


def voided(block: BlockColumns) -> NDArray[np.bool_]:
    """[games] whether a fault broke each off."""
    return np.array([is_voided(reason) for reason in block.reasons], np.bool_)[
        block.games["reason"]
    ]


def game_records(
    block: BlockColumns, chosen: Sequence[int], players: Mapping[int, PlayerRef]
) -> Iterator[GameRecord]:
    """The records of some of a block's games.

    chosen   their places
    players  id -> player. Raises: KeyError for one that is not there
    """
    games = {name: column.tolist() for name, column in block.games.items()}
    refs, first_seats = [players[player] for player in block.players], block.first_seats.tolist()
    seats, names = block.seats, ("player", "generation", "version_start", "version_end", "place")
    columns = (*(seats[name].tolist() for name in names), block.returns.tolist(), _points(block))
    seated = list(zip(*columns, strict=True))
    for place in chosen:
        first, pair = first_seats[place], games["pair"][place]
        yield GameRecord(
            games["number"][place],
            games["environment"][place],
            games["count"][place],
            "training",
            games["seed"][place],
            tuple(_seat(refs, *row) for row in seated[first : first + games["seated"][place]]),
            games["steps"][place],
            games["frames"][place],
            block.reasons[games["reason"][place]],
            block.hashes[place].hex(),
            block.actions[place] if block.actions else None,
            games["opening_plies"][place],
            bool(games["greedy"][place]),
            None if pair == NONE else pair,
        )


def _seat(
    refs: Sequence[PlayerRef], player: int, generation: int, version_start: int, *rest: Any
) -> SeatRecord:
    known = None if version_start == UNKNOWN_VERSION else version_start
    return SeatRecord(refs[player], generation, known, *rest)


# --- totals --------------------------------------------------------------------------------------


class PairTotal(NamedTuple):
    """The games of a member against one opponent.

    player    id of the member
    opponent  id of the other player; 0 where the member had all seats
    games     number of games; wins, draws and losses are the member's
    returns   sum of its returns; of one game the mean over its seats
    squares   sum of their squares
    """

    player: int
    opponent: int
    games: int
    wins: int
    draws: int
    losses: int
    returns: float
    squares: float


def totals_text(totals: Sequence[PairTotal]) -> str:
    """Totals as the league stores them: JSON, a list for each."""
    return json.dumps(totals, separators=(",", ":"))


def pair_totals(
    block: BlockColumns, counted: NDArray[np.bool_], members: Sequence[int]
) -> list[PairTotal]:
    """The results of every member against every opponent, by their ids.

    A game of several opponents counts once for each of them. A player in several seats of a game
    has the best of its places and the mean of its returns.

    counted  [games] whether a game counts
    members  ids of the live players
    """
    game, player, place, returns = _by_player(block, counted)
    own, other = _meetings(game, len(block.players))
    live = np.isin(np.array(block.players), members)[player[own]]
    own, other = own[live], other[live]
    alone, ids = other < 0, [0, *block.players]
    group = player[own] * len(ids) + np.where(alone, 0, player[other] + 1)
    ahead = np.where(alone, 0, place[other] - place[own])
    with np.errstate(over="ignore"):
        squares = returns[own] ** 2
    pairs = np.arange(len(ids) ** 2) if len(ids) < 1000 else None
    if pairs is None:
        pairs, group = np.unique(group, return_inverse=True)
    games = np.bincount(group)
    met = np.flatnonzero(games)
    sums = (
        np.bincount(group, weights)[met].tolist()
        for weights in (ahead > 0, (ahead == 0) & ~alone, ahead < 0, returns[own], squares)
    )
    rows = zip(pairs[met].tolist(), games[met].tolist(), *sums, strict=True)
    return sorted(
        PairTotal(
            block.players[pair // len(ids)],
            ids[pair % len(ids)],
            *(int(number) for number in numbers[:4]),
            *numbers[4:],
        )
        for pair, *numbers in rows
    )


def _by_player(block: BlockColumns, counted: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints, Floats]:
    """(game, player, best place, mean return) of every player of every game that counts."""
    game = block.game_of_seat
    kept = np.flatnonzero(counted[game])
    game, player = game[kept], block.seats["player"][kept]
    key = game * len(block.players) + player
    order = np.argsort(key, kind="stable")
    key, kept = key[order], kept[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if not len(first):
        return key, key, key, block.returns[kept]
    places = np.minimum.reduceat(block.seats["place"][kept], first)
    seats = np.diff(first, append=len(key))
    means = np.add.reduceat(block.returns[kept], first) / seats
    return key[first] // len(block.players), key[first] % len(block.players), places, means


def _meetings(game: Ints, players: int) -> tuple[Ints, Ints]:
    """Every (row, row of another player of its game), and (row, -1) where there is no other.

    game  [rows] the game of each row, ascending
    """
    rows = np.arange(len(game))
    first = np.searchsorted(game, game)
    size = np.searchsorted(game, game, "right") - first
    own, other = [rows[size == 1]], [np.full(int((size == 1).sum()), -1)]
    for step in range(1, int(size.max(initial=1))):
        met = rows[size > step]
        own.append(met)
        other.append(first[met] + (met - first[met] + step) % size[met])
    return np.concatenate(own), np.concatenate(other)
