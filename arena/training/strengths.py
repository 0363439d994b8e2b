"""The strength of members while they train, from evaluation games counted as they are played.

It is for the display. The league's tables count the stored games, also those of matches.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from arena.league.returns import ranked_by_self_play
from arena.stats.intervals import spread_interval
from arena.stats.margin_ratings import fit_margins
from arena.stats.margin_units import MarginResult
from arena.stats.meetings import seated_games
from arena.stats.rating_fit import fit_meetings
from pbt.matchmaking.seats import RANDOM
from pbt.objective import ObjectiveKind
from pbt.records import GameRecord, PlayerRef, is_voided


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength of a snapshot, in its objective.

    value  under "win" Elo above `random`, under "margin" the margin a game above `random`, under
           "return" the mean return a game
    low    lower end of the 95 % interval; None where the games give none
    high   upper end, None as `low`
    games  evaluation games of the snapshot that it is taken from
    """

    value: float
    low: float | None
    high: float | None
    games: int


@dataclass(slots=True)
class RunningMean:
    """The mean of values that come one by one, and their squared distances (Welford 1962)."""

    number: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.number += 1
        step = value - self.mean
        self.mean += step / self.number
        self.squares += step * (value - self.mean)


# The players that have a strength, and what gives that of one of them.
Known = tuple[Collection[PlayerRef], Callable[[PlayerRef], Strength]]


class CountedGames:
    """Counts of evaluation games.

    games  how many were counted
    """

    def __init__(self) -> None:
        self.games = 0
        self._outcomes: dict[tuple[PlayerRef, PlayerRef], list[int]] = defaultdict(lambda: [0] * 3)
        # Sums of 1, y and y squared; y is half of what the first seat returned more.
        self._margins: dict[tuple[PlayerRef, PlayerRef], list[float]] = defaultdict(
            lambda: [0.0] * 3
        )
        self._alone: dict[PlayerRef, RunningMean] = defaultdict(RunningMean)
        self._crossed: dict[PlayerRef, RunningMean] = defaultdict(RunningMean)

    def count(self, record: GameRecord) -> None:
        """Count a game, unless it is a greedy or a voided one."""
        if record.greedy or is_voided(record.end_reason):
            return
        self.games += 1
        returns: dict[PlayerRef, list[float]] = defaultdict(list)
        for seat in record.seats:
            returns[seat.player].append(seat.returns)
        kept = self._crossed if len(returns) > 1 else self._alone
        for player, own in returns.items():
            kept[player].add(sum(own) / len(own))
        if len(record.seats) != 2 or len(returns) < 2:
            return
        first, second = record.seats
        seated = first.player, second.player
        self._outcomes[seated][1 + (first.place > second.place) - (first.place < second.place)] += 1
        margin = (first.returns - second.returns) / 2
        for place, value in enumerate((1.0, margin, margin**2)):
            self._margins[seated][place] += value

    def strengths(
        self, objective: ObjectiveKind, snapshots: Mapping[str, Sequence[str]]
    ) -> dict[str, Strength]:
        """Member -> the strength of its newest snapshot that has one.

        Wins and margins are those of games of two seats; other games give no ratings here.

        snapshots  member -> ids of its snapshots, oldest first
        Raises: EngineError when the fit does not converge.
        """
        rate = {"win": self._by_wins, "margin": self._by_margins, "return": self._by_returns}
        known, strength = rate[objective]()
        found = {}
        for member, ids in snapshots.items():
            players = (PlayerRef("snapshot", name) for name in reversed(ids))
            newest = next((player for player in players if player in known), None)
            if newest is not None:
                found[member] = strength(newest)
        return found

    def _by_wins(self) -> Known:
        players, meetings = seated_games(self._outcomes)
        fit = fit_meetings(players, meetings, RANDOM)
        if fit is None:
            return (), dict[PlayerRef, Strength]().__getitem__

        def strength(player: PlayerRef) -> Strength:
            row = fit.difference(player, RANDOM)
            return Strength(row.elo, row.low, row.high, int(fit.games[player]))

        return frozenset(fit.players), strength

    def _by_margins(self) -> Known:
        margins = [
            MarginResult(first, second, int(units), total, squares)
            for (first, second), (units, total, squares) in self._margins.items()
        ]
        rows = {
            row.player: Strength(row.value, row.low, row.high, row.units)
            for row in fit_margins(margins, RANDOM).ratings
            if row.value is not None
        }
        return rows.keys(), rows.__getitem__

    def _by_returns(self) -> Known:
        """Returns with itself in all seats or beside other players, as in the league's table."""
        played = {player for player in (*self._alone, *self._crossed) if player.kind == "snapshot"}
        numbers = [(self._alone[one].number, self._crossed[one].number) for one in played]
        every = self._alone if ranked_by_self_play(numbers) else self._crossed
        kept = {player: own for player, own in every.items() if own.number}

        def strength(player: PlayerRef) -> Strength:
            own = kept[player]
            low, high = spread_interval(own.number, own.mean, own.squares) or (None, None)
            return Strength(own.mean, low, high, own.number)

        return kept.keys(), strength
