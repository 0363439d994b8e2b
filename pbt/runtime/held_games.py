"""Games that wait for the end of a rollout, to be told in an order that all placements share."""

from math import nan
from operator import itemgetter
from typing import Any

from pbt.transport.messages import GameEnd, GamesOver, SeatPlan


class HeldGames:
    """The games of a rollout, as workers tell them."""

    def __init__(self) -> None:
        self._blocks: list[GamesOver] = []
        self._single: list[GameEnd] = []

    def __bool__(self) -> bool:
        return bool(self._blocks or self._single)

    def add(self, message: GamesOver | GameEnd) -> None:
        """Hold games."""
        if isinstance(message, GamesOver):
            self._blocks.append(message)
        else:
            self._single.append(message)

    def take(self) -> list[GamesOver | GameEnd]:
        """All games so far by (table, game count), the training games that ended well first."""
        blocks, single = self._blocks, self._single
        self._blocks, self._single = [], []
        ended = sorted(single, key=lambda end: (end.table, end.plan.game_count))
        return [*([in_order(blocks)] if blocks else []), *ended]


def in_order(blocks: list[GamesOver]) -> GamesOver:
    """All of these games as one block, by (table, game count)."""
    seats = blocks[0].seats
    keys = sorted(
        (table, count, block, game)
        for block, games in enumerate(blocks)
        for game, (table, count) in enumerate(zip(games.tables, games.counts, strict=True))
    )
    places = [(block, game) for _, _, block, game in keys]
    lineups: list[tuple[SeatPlan, ...]] = []
    begins = list[int]()
    for games in blocks:
        begins.append(len(lineups))
        lineups += games.lineups
    merged: dict[str, Any] = {
        name: [getattr(blocks[block], name)[game] for block, game in places] for name in _BY_GAME
    }
    merged["lineup"] = [begins[block] + blocks[block].lineup[game] for block, game in places]
    for name in _BY_SEAT:
        columns = [getattr(games, name) or [nan] * seats * len(games.tables) for games in blocks]
        merged[name] = [
            columns[block][game * seats + seat] for block, game in places for seat in range(seats)
        ]
    if not any(games.points for games in blocks):
        merged["points"] = []
    return GamesOver(**merged, lineups=lineups, answers=_answers(blocks, places, seats))


_BY_GAME = ("tables", "counts", "seeds", "openings", "steps", "frames", "reasons", "hashes")
_BY_SEAT = ("generations", "first_versions", "last_versions", "places", "returns", "points")


def _answers(
    blocks: list[GamesOver], places: list[tuple[int, int]], seats: int
) -> list[tuple[int, int, int]]:
    """The weights that answered for the seats, whose entries have moved."""
    moved = {place: index for index, place in enumerate(places)}
    return sorted(
        (
            (moved[block, entry // seats] * seats + entry % seats, version, weights)
            for block, games in enumerate(blocks)
            for entry, version, weights in games.answers
        ),
        key=itemgetter(0),
    )
