"""The ranges of games that the rounds of a population were scored from, member by member."""

from bisect import bisect_left
from collections import defaultdict

from sqlalchemy import Connection, select

from arena.league.rows import to_scores
from arena.league.schema import incarnations, rounds


class RoundWindows:
    """Ranges of game numbers, read from the rounds that count; new rounds are read as they come."""

    def __init__(self, population_id: int) -> None:
        self._population_id = population_id
        self._newest = 0
        # Member -> ranges that neither meet nor overlap, in order.
        self._ranges: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def read(self, connection: Connection) -> None:
        """Reads the rounds that were stored since the last time."""
        starts = select(incarnations.c.id).where(
            incarnations.c.population_id == self._population_id
        )
        new = (
            rounds.c.id > self._newest,
            rounds.c.incarnation_id.in_(starts),
            rounds.c.superseded == 0,
        )
        query = select(rounds.c.id, rounds.c.scores).where(*new).order_by(rounds.c.id)
        for row in connection.execute(query):
            self._newest = row.id
            for score in to_scores(row.scores):
                if score.first_game >= 0:
                    self._add(score.member, score.first_game, score.last_game)

    def _add(self, member: str, first: int, last: int) -> None:
        ranges = self._ranges[member]
        at = bisect_left(ranges, first - 1, key=lambda one: one[1])
        end = at
        while end < len(ranges) and ranges[end][0] <= last + 1:
            first, last = min(first, ranges[end][0]), max(last, ranges[end][1])
            end += 1
        ranges[at:end] = [(first, last)]

    def reach(self, member: str, first: int, last: int) -> bool:
        """Whether a round was scored from a game of this member between two numbers.

        What lies between two games of a window counts as a part of it.
        """
        ranges = self._ranges.get(member, [])
        at = bisect_left(ranges, first, key=lambda one: one[1])
        return at < len(ranges) and ranges[at][0] <= last
