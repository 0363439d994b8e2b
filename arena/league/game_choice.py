"""Which of a population's games are asked for: a filter, and what it means for rows and blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, exists, or_, select, tuple_

from arena.league.block_games import voided
from arena.league.block_rows import StoredBlock
from arena.league.blocks import BlockColumns
from arena.league.schema import (
    IS_EVALUATION,
    IS_TRAINING,
    game_seats,
    games,
    players,
    populations,
    snapshots,
)
from pbt.records import GameKind

_OF_GAME: ColumnElement[bool] = game_seats.c.game_id == games.c.id

Conditions = tuple[ColumnElement[bool], ...]
SeatResult = Literal["won", "drawn", "lost"]
"""Whether a seat was first alone, first with others, or not first."""


@dataclass(frozen=True, slots=True)
class GameFilter:
    """A filter of a population's games.

    kind        only games of this kind; None: all
    players     only games in which one of these sat: members, ids of snapshots, any snapshot of a
                member (`demo/m0`), or names of other players; none: all
    first       only games from this number on
    last        only games up to this number; None: all
    voided      whether voided games are included
    superseded  whether superseded games are included
    opponents   only games in which one of these sat, too, named as `players`; none: all
    result      only games in which one of the players, or without players any seat, had this result
    shortest    only games of at least so many decisions
    longest     only games of at most so many decisions; None: all
    """

    kind: GameKind | None = None
    players: tuple[str, ...] = ()
    first: int = 0
    last: int | None = None
    voided: bool = True
    superseded: bool = False
    opponents: tuple[str, ...] = ()
    result: SeatResult | None = None
    shortest: int = 0
    longest: int | None = None


STANDING_GAMES = GameFilter()
"""All games that were not taken back."""


@dataclass(frozen=True, slots=True)
class _Seated:
    """What some seat of a game must meet.

    players  ids of the players of whom one sits there; None: any
    result   what it had; None: anything
    """

    players: frozenset[int] | None
    result: SeatResult | None

    def rows(self) -> Conditions:
        """The conditions of the game's row."""
        mine = () if self.players is None else (game_seats.c.player_id.in_(self.players),)
        had = () if self.result is None else _had(self.result)
        return (exists().where(_OF_GAME, *mine, *had),)

    def chosen(self, block: BlockColumns) -> NDArray[np.bool_]:
        """[games] whether each game of a block meets it."""
        game, place = block.game_of_seat, block.seats["place"]
        first = np.bincount(game, place == 0, len(block.numbers))[game]
        met = {
            None: np.ones(len(place), np.bool_),
            "won": (place == 0) & (first == 1),
            "drawn": (place == 0) & (first > 1),
            "lost": place > 0,
        }[self.result]
        if self.players is not None:
            ids = np.array(block.players, np.int64)[block.seats["player"]]
            met &= np.isin(ids, list(self.players))
        return np.bincount(game, met, len(block.numbers)) > 0


@dataclass(frozen=True, slots=True)
class GameChoice:
    """A filter whose players are known by their ids.

    wanted  the filter, of which `players`, `opponents` and `result` stand in `seated`
    rows    the conditions of rows; without a player the same objects every time, so that a
            statement can be cached
    seated  what seats must meet
    """

    wanted: GameFilter
    rows: Conditions
    seated: tuple[_Seated, ...] = ()

    @property
    def players(self) -> list[frozenset[int]]:
        """Sets of players; one of each set sits in every chosen game."""
        return [one.players for one in self.seated if one.players is not None]

    def chosen(self, stored: StoredBlock, block: BlockColumns) -> NDArray[np.bool_]:
        """[games] whether each game of a block is chosen."""
        wanted, steps = self.wanted, block.games["steps"]
        chosen = np.full(len(steps), wanted.kind != "evaluation")
        if not wanted.voided:
            chosen &= ~voided(block)
        if not wanted.superseded:
            chosen &= ~stored.superseded(block.numbers)
        if wanted.shortest > 0:
            chosen &= steps >= wanted.shortest
        if wanted.longest is not None:
            chosen &= steps <= wanted.longest
        for one in self.seated:
            chosen &= one.chosen(block)
        return chosen


def choice_of(connection: Connection, population_id: int, wanted: GameFilter) -> GameChoice | None:
    """What a filter means in a population, 0 for a match; None when no game can match."""
    rows = _plain_conditions(wanted.kind, wanted.voided, wanted.superseded)
    if wanted.shortest > 0:
        rows = (*rows, games.c.steps >= wanted.shortest)
    if wanted.longest is not None:
        rows = (*rows, games.c.steps <= wanted.longest)
    seated: list[_Seated] = []
    for names, result in ((wanted.players, wanted.result), (wanted.opponents, None)):
        ids = frozenset(_ids_of(connection, population_id, names)) if names else None
        if ids is not None and not ids:
            return None
        if ids is not None or result is not None:
            seated.append(_Seated(ids, result))
            rows = (*rows, *seated[-1].rows())
    return GameChoice(wanted, rows, tuple(seated))


EVERY_GAME = GameChoice(GameFilter(superseded=True), ())


def _ids_of(connection: Connection, population_id: int, names: Sequence[str]) -> list[int]:
    """Numbers of the players with these names; of `demo/m0` those of the member's snapshots."""
    members = [name.partition("/")[::2] for name in names if "/" in name]
    of_members = (
        select(snapshots.c.snapshot_id)
        .join(populations, populations.c.id == snapshots.c.population_id)
        .where(tuple_(populations.c.name, snapshots.c.member).in_(members))
    )
    named: ColumnElement[bool] = players.c.name.in_(names)
    if members:
        named = or_(named, players.c.name.in_(of_members))
    here = players.c.population_id.in_((0, population_id))
    return list(connection.execute(select(players.c.id).where(named, here)).scalars())


def _had(result: SeatResult) -> Conditions:
    """The conditions that a seat had a result."""
    place, other = game_seats.c.place, game_seats.alias()
    if result == "lost":
        return (place > 0,)
    beside = exists().where(
        other.c.game_id == game_seats.c.game_id,
        other.c.seat != game_seats.c.seat,
        other.c.place == 0,
    )
    return (place == 0, beside if result == "drawn" else ~beside)


@cache
def _plain_conditions(kind: GameKind | None, voided: bool, superseded: bool) -> Conditions:
    of_kind = {
        None: (),
        "training": (IS_TRAINING,),
        "evaluation": (IS_EVALUATION,),
    }[kind]
    return (
        *of_kind,
        *(() if voided else (games.c.voided == 0,)),
        *(() if superseded else (games.c.superseded == 0,)),
    )
