"""The result of a match, computed from its played games."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.league.matches import Match
from arena.matches.game_list import is_spoiled
from arena.matches.plan import MatchPlan
from arena.matches.results import (
    PlayedGames,
    duel_games,
    leads,
    partner_returns,
    ranked_games,
    seat_places,
    seat_returns,
)
from arena.matches.seating import SeatHolder
from arena.matches.stored import margins_of
from arena.players.resolve import RANDOM, ResolvedPlayer
from arena.stats.anytime import duel_statistics
from arena.stats.bradley_terry import Rating
from arena.stats.cross_play import CrossPlay, cross_play
from arena.stats.free_for_all import FreeForAll, free_for_all
from arena.stats.margin import MarginStatistics
from arena.stats.plackett_luce import Ranking, fit_rankings
from arena.stats.score import MatchStatistics
from arena.stats.seat_means import Mean, block_means, lead, mean_of
from arena.stats.sprt import SequentialTest
from pbt.records import GameRecord


@dataclass(frozen=True, slots=True)
class TableResult:
    """The result of games at larger tables, or of more than two players.

    Players are counted by (player, role of the seat), where the game has several roles.

    standings  mean places, wins, and scores of every two; role by role
    ratings    by Plackett-Luce; in each role `random` is 0, or else its first player
    returns    the mean return of a seat of each
    leads      of every two that held the same seats on the same seeds, without meeting there: how
               much earlier the first came (in places), or how much more it returned where that is
               what counts
    """

    standings: FreeForAll[SeatHolder]
    ratings: tuple[Rating[SeatHolder], ...]
    returns: dict[SeatHolder, Mean]
    leads: dict[tuple[SeatHolder, SeatHolder], Mean]


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A match as played.

    plan         the match as it was planned
    match_id     number in the league; None when the match was not recorded
    statistics   of the first player, where two meet in games of at most two seats; else None. With
                 a test, the interval is a confidence sequence
    table        of larger tables, and of more than two players; else None
    returns      in games of one seat: the returns of both players on each seed; else empty
    test         the sequential test; None without
    records      the games that count, in the order planned
    errors       the reason of each try that the game spoiled by raising; those games were played
                 again
    games_per_s  of the games that this call played; None when all were stored
    interim      fewer games than planned were played, because of Ctrl-C
    notes        what a reader of the numbers should know
    left_out     number of finished games that do not count, because their block is unfinished
    partners     self-play and cross-play, where returns count and players can take every seat
    margin       of the first player, where margins decide between two; else None
    head         of the match's chain, which stands for all its games; None when it was not recorded
    """

    plan: MatchPlan
    match_id: int | None
    statistics: MatchStatistics | None
    table: TableResult | None
    returns: tuple[tuple[float, float], ...]
    test: SequentialTest | None
    records: tuple[GameRecord, ...]
    errors: tuple[str, ...]
    games_per_s: float | None
    interim: bool
    notes: tuple[str, ...]
    left_out: int = 0
    partners: CrossPlay | None = None
    margin: MarginStatistics | None = None
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
) -> PlayedMatch:
    """The result of the games so far.

    match        the row in the league; None when the match is not recorded
    games_per_s  of the games that this call played; None when all were stored
    notes        to be added to the plan's
    """
    counted = results.counted
    together = plan.seating.kind == "partners"
    duel = plan.seating.duel
    games = duel_games(plan, counted) if duel else []
    return PlayedMatch(
        plan=plan,
        match_id=match.id if match else None,
        statistics=duel_statistics(games, results.sprt) if duel else None,
        table=None if duel or together else _table(plan, results),
        returns=tuple(leads(plan, counted)),
        test=results.test,
        records=tuple(counted.values()),
        errors=results.errors,
        games_per_s=games_per_s,
        interim=not results.complete,
        notes=(*plan.notes, *notes),
        left_out=results.left_out,
        partners=cross_play(partner_returns(plan, counted), len(plan.players))
        if together
        else None,
        margin=margins_of(games, plan.objective, results.sprt) if duel else None,
    )


def _table(plan: MatchPlan, results: PlayedGames) -> TableResult:
    counted = results.counted
    ranked = ranked_games(plan, counted)
    standings = free_for_all(ranked, plan.seed, plan.seating.block)
    rankings = [Ranking(game.players, game.places) for game in ranked]
    by_block = block_means(seat_returns(plan, counted))
    returns = {taken: mean_of(blocks) for taken, blocks in by_block.items()}
    return TableResult(
        _role_by_role(plan, standings, returns),
        tuple(
            rating
            for role in roles_of(plan)
            for rating in fit_rankings(rankings, anchor(plan, role))
            if rating.player.role == role
        ),
        returns,
        _leads(plan, results) if plan.seating.kind == "roles" else {},
    )


def _role_by_role(
    plan: MatchPlan, table: FreeForAll[SeatHolder], returns: Mapping[SeatHolder, Mean]
) -> FreeForAll[SeatHolder]:
    """The standings role by role, the best mean place first, or the highest mean return.

    A place, or a return, of one role does not compare with that of another.
    """
    roles = roles_of(plan)
    order = [row.player for row in table.standings]
    if plan.objective == "return":
        order.sort(key=lambda taken: -returns[taken].value)
    return table.in_order(sorted(order, key=lambda taken: roles.index(taken.role)))


def roles_of(plan: MatchPlan) -> list[str | None]:
    """The roles of the seats by which results are counted; None alone in games with one role."""
    return list(dict.fromkeys(taken.role for taken in plan.seating.taken(0)))


def anchor(plan: MatchPlan, role: str | None) -> SeatHolder:
    """What has the rating 0 in a role: `random` if it took its seats, else its first player."""
    block = range(len(plan.seating.sittings))
    seated = {one for index in block for one in plan.seating.taken(index)}
    taken = sorted(one for one in seated if one.role == role)
    random = (one for one in taken if plan.players[one.player].ref.name == RANDOM)
    return next(random, taken[0])


def _leads(plan: MatchPlan, results: PlayedGames) -> dict[tuple[SeatHolder, SeatHolder], Mean]:
    """How much better each player did than every other one in the same role, on the same seeds."""
    by_places = plan.objective == "win"
    values = (seat_places if by_places else seat_returns)(plan, results.counted)
    means = block_means(values)
    found = {}
    for a in means:
        for b in means:
            if a == b or a.role != b.role:
                continue
            own, other = (means[b], means[a]) if by_places else (means[a], means[b])
            ahead = lead(own, other)
            if ahead is not None:
                found[a, b] = ahead
    return found
