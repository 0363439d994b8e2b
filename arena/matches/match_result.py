"""The result of a match, computed from its played games."""

from collections.abc import Sequence
from dataclasses import dataclass

from arena.league.matches import Match
from arena.matches.game_list import is_spoiled
from arena.matches.plan import MatchPlan
from arena.matches.results import PlayedGames, duel_games, leads, ranked_games
from arena.players.resolve import RANDOM, ResolvedPlayer
from arena.stats.bradley_terry import Rating
from arena.stats.free_for_all import FreeForAll, free_for_all
from arena.stats.plackett_luce import Ranking, fit_rankings
from arena.stats.score import MatchStatistics, match_statistics
from arena.stats.sprt import SequentialTest
from pbt.records import GameRecord


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match as played.

    plan         the match as it was planned
    match_id     number in the league; None when the match was not recorded
    statistics   of the first player; None for more than two players
    table        standings of more than two players; None for two
    ratings      of more than two players, in the order given; empty for two
    returns      in games of one seat: the returns of both players on each seed; else empty
    test         the sequential test; None without
    records      the games that count, in the order planned
    errors       the reason of each try that the game spoiled by raising; those games were played
                 again
    games_per_s  of the games that this call played; None when all were stored
    interim      fewer games than planned were played, because of Ctrl-C
    notes        what a reader of the numbers should know
    left_out     number of finished games that do not count, because their block is unfinished
    head         of the match's chain, which stands for all its games; None when it was not recorded
    """

    plan: MatchPlan
    match_id: int | None
    statistics: MatchStatistics | None
    table: FreeForAll[int] | None
    ratings: tuple[Rating[int], ...]
    returns: tuple[tuple[float, float], ...]
    test: SequentialTest | None
    records: tuple[GameRecord, ...]
    errors: tuple[str, ...]
    games_per_s: float | None
    interim: bool
    notes: tuple[str, ...]
    left_out: int = 0
    head: str | None = None

    @property
    def a(self) -> ResolvedPlayer:
        """The first player."""
        return self.plan.players[0]

    @property
    def b(self) -> ResolvedPlayer:
        """The second player."""
        return self.plan.players[1]

    @property
    def duel(self) -> MatchStatistics:
        """The statistics of a match of two."""
        assert self.statistics is not None
        return self.statistics

    @property
    def same_player(self) -> bool:
        """One player was named twice."""
        return len({player.ref for player in self.plan.players}) == 1

    @property
    def spoiled(self) -> bool:
        """Too many games raised, so the others may be a biased choice."""
        return is_spoiled(len(self.errors), len(self.records))


def match_result(
    plan: MatchPlan,
    results: PlayedGames,
    match: Match | None,
    games_per_s: float | None,
    notes: Sequence[str],
) -> MatchResult:
    """The result of the games so far.

    match        the row in the league; None when the match is not recorded
    games_per_s  of the games that this call played; None when all were stored
    notes        to be added to the plan's
    """
    counted = results.counted
    many_players = len(plan.players) > 2
    table = free_for_all(ranked_games(plan, counted), plan.seed) if many_players else None
    return MatchResult(
        plan=plan,
        match_id=match.id if match else None,
        statistics=None if many_players else match_statistics(duel_games(plan, counted)),
        table=table,
        ratings=_ratings(plan, results) if many_players else (),
        returns=tuple(leads(plan, counted)),
        test=results.test,
        records=tuple(counted.values()),
        errors=results.errors,
        games_per_s=games_per_s,
        interim=not results.complete,
        notes=(*plan.notes, *notes),
        left_out=results.left_out,
    )


def _ratings(plan: MatchPlan, results: PlayedGames) -> tuple[Rating[int], ...]:
    """Ratings in the order of the players; `random` is 0, or else the first player."""
    names = [player.ref.name for player in plan.players]
    rankings = [Ranking(game.players, game.places) for game in ranked_games(plan, results.counted)]
    ratings = fit_rankings(rankings, names.index(RANDOM) if RANDOM in names else 0)
    return tuple(sorted(ratings, key=lambda rating: rating.player))
