"""The played games of a match: stored a whole block at a time, counted in the order planned."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from arena.matches.plan import MatchPlan
from arena.matches.seating import SeatHolder
from arena.matches.stored import game_from_seat, lone_games, lone_pairs
from arena.stats.cross_play import Pairing
from arena.stats.free_for_all import RankedGame
from arena.stats.ranks import mid_ranks
from arena.stats.score import MatchGame
from arena.stats.seat_means import SeatValues
from arena.stats.sprt import SequentialTest, Sprt
from pbt.records import GameRecord, is_voided
from pbt.transport.messages import GameEnd


class PlayedGames:
    """Finished games by index in the plan. Half a block is no evidence, so it is not stored.

    plan     the match
    keep     stores a game; called for each game of a block once it is whole, and for voided tries
    stored   games that are stored already
    games    index in the plan -> the finished game
    tries    index in the plan -> number of spoiled tries
    changed  number of games that came out differently when they were played again
    sprt     the sequential test's parameters; None without a test
    test     the sequential test that ends the match; None without
    """

    def __init__(
        self,
        plan: MatchPlan,
        keep: Callable[[GameRecord], None],
        stored: Iterable[GameRecord] = (),
        sprt: Sprt | None = None,
    ) -> None:
        self._plan, self._keep, self.sprt = plan, keep, sprt
        self.games: dict[int, GameRecord] = {}
        self._errors: list[tuple[int, str]] = []
        self.tries: Counter[int] = Counter()
        self.changed = 0
        self._hashes: dict[int, str] = {}
        for record in stored:
            self._add(record, voided=is_voided(record.end_reason))
        self.test = (
            SequentialTest(sprt, 2 if plan.seating.paired and not plan.seating.alone else 1)
            if sprt
            else None
        )
        self.settle()

    def take(self, end: GameEnd) -> None:
        """Take a game that ended; store its block when that makes it whole."""
        record = end.record(end.plan.game_count)
        stored_hash = self._hashes.get(record.number)
        if stored_hash is not None:
            self.changed += stored_hash != record.trajectory_hash
            return
        voided = is_voided(end.reason)
        self._add(record, voided=voided)
        if voided:
            self._keep(record)
            return
        block = self._block(record.count % self._plan.games)
        if self._finished(block.start):
            for index in block:
                self._keep(self.games[index])

    def _add(self, record: GameRecord, *, voided: bool) -> None:
        self._hashes[record.number] = record.trajectory_hash
        index = record.count % self._plan.games
        if voided:
            self._errors.append((index, record.end_reason))
            self.tries[index] += 1
        else:
            self.games[index] = record

    def _block(self, index: int) -> range:
        size = self._plan.seating.block
        return range(index - index % size, index - index % size + size)

    def settle(self) -> None:
        """Give the test all whole blocks that precede the first unfinished one."""
        if self.test is None or self.test.state != "continue":
            return
        size = self._plan.seating.block
        units: list[float] = []
        start = self.test.looked_at * size
        while self._finished(start) and start < self._plan.games:
            block = {index: self.games[index] for index in self._block(start)}
            units.append(self._unit(duel_games(self._plan, block)))
            start += size
        self.test.look(units)

    def _unit(self, games: Sequence[MatchGame]) -> float:
        """What the sequential test takes of a block: A's points, or its mean margin."""
        if self._plan.objective == "margin":
            return fmean(game.margin for game in games)
        return sum(game.points for game in games)

    @property
    def decided(self) -> bool:
        """The sequential test has ended the match."""
        return self.test is not None and self.test.state != "continue"

    @property
    def complete(self) -> bool:
        """Nothing is left to play."""
        return self.decided or len(self.games) == self._plan.games

    @property
    def whole(self) -> bool:
        """At least one block is finished."""
        return any(self._finished(index) for index in self.games)

    def _finished(self, index: int) -> bool:
        """Whether all games of the block of game `index` are finished."""
        return all(game in self.games for game in self._block(index))

    @property
    def end(self) -> int:
        """Number of games of the plan that count: up to the test's decision, if it made one."""
        return (
            self.test.looked_at * self._plan.seating.block
            if self.test is not None and self.decided
            else self._plan.games
        )

    @property
    def counted(self) -> dict[int, GameRecord]:
        """Index -> game, of the whole blocks that count, in the order planned."""
        return {
            index: record
            for index, record in sorted(self.games.items())
            if index < self.end and self._finished(index)
        }

    @property
    def left_out(self) -> int:
        """Number of finished games whose block is not whole."""
        return sum(not self._finished(index) for index in self.games if index < self.end)

    @property
    def errors(self) -> tuple[str, ...]:
        """The reason of each voided try, of the games that count."""
        return tuple(reason for index, reason in self._errors if index < self.end)


def duel_games(plan: MatchPlan, games: Mapping[int, GameRecord]) -> list[MatchGame]:
    """Games of a match of two, from the first player's side.

    The first player is found by its seat, since in a match of a player with itself both have one
    name.
    """
    if plan.seating.alone:
        return lone_games(games)
    return [
        game_from_seat(record, plan.seating.sitting(index).index(0))
        for index, record in games.items()
    ]


def ranked_games(plan: MatchPlan, games: Mapping[int, GameRecord]) -> list[RankedGame[SeatHolder]]:
    """The places of the games at larger tables. Players are named by their index in the plan."""
    return [
        RankedGame(
            plan.seating.taken(index),
            tuple(seat.place for seat in record.seats),
            _block_of(plan, index),
        )
        for index, record in games.items()
    ]


def seat_returns(plan: MatchPlan, games: Mapping[int, GameRecord]) -> list[SeatValues[SeatHolder]]:
    """The returns of the seats."""
    return [
        SeatValues(
            plan.seating.taken(index),
            tuple(seat.returns for seat in record.seats),
            index // plan.seating.block,
        )
        for index, record in games.items()
    ]


def seat_places(plan: MatchPlan, games: Mapping[int, GameRecord]) -> list[SeatValues[SeatHolder]]:
    """The places of the seats: 1 is best, and tied seats share the mean of their places."""
    return [
        SeatValues(
            plan.seating.taken(index),
            tuple(map(float, mid_ranks([seat.place for seat in record.seats]))),
            index // plan.seating.block,
        )
        for index, record in games.items()
    ]


def partner_returns(plan: MatchPlan, games: Mapping[int, GameRecord]) -> list[SeatValues[Pairing]]:
    """The returns of the seats, where every player plays with itself and with each other one."""
    return [
        SeatValues(
            _partners(plan.seating.sitting(index)),
            tuple(seat.returns for seat in record.seats),
            index // plan.seating.block,
        )
        for index, record in games.items()
    ]


def _partners(sitting: Sequence[int]) -> tuple[Pairing, ...]:
    """For each seat: its player, and the other one of the game, or again itself."""
    both = set(sitting)
    return tuple((player, min(both - {player}, default=player)) for player in sitting)


def _block_of(plan: MatchPlan, index: int) -> int | None:
    """Number of the block of a game; None where a game is evidence by itself."""
    return index // plan.seating.block if plan.seating.block > 1 else None


def leads(plan: MatchPlan, games: Mapping[int, GameRecord]) -> list[tuple[float, float]]:
    """In games of one seat: the returns of both players on each seed that both have played."""
    both = lone_pairs(games) if plan.seating.alone else []
    return [(first.seats[0].returns, second.seats[0].returns) for first, second in both]
