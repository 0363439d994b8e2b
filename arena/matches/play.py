"""A match: planned games between players, in seed pairs with the seats swapped, so that neither
the seed nor the first move favours anybody.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass

from arena.guests.player import GuestError
from arena.league.database import League
from arena.league.matches import (
    FAILED_KEY,
    SPRT_KEY,
    Match,
    MatchError,
    create_match,
    fail_match,
    finish_match,
    match_lock,
    stored_games,
)
from arena.league.writer import LeagueWriter
from arena.matches.game_list import Progress, is_spoiled
from arena.matches.helpers import MatchHelpers
from arena.matches.plan import MatchPlan, plan_match
from arena.matches.results import PlayedGames, duel_games, leads, ranked_games
from arena.matches.tables import DEFAULT_TABLES
from arena.players.resolve import RANDOM, ResolvedPlayer, make_game
from arena.stats.bradley_terry import Rating
from arena.stats.free_for_all import FreeForAll, free_for_all
from arena.stats.plackett_luce import Ranking, fit_rankings
from arena.stats.score import MatchStatistics, match_statistics
from arena.stats.sprt import SequentialTest, Sprt
from pbt.envs.contract import EnvSpec
from pbt.envs.registry import spec as find_spec
from pbt.errors import EnvError, SnapshotError
from pbt.records import GameRecord

DEFAULT_GAMES = 400
# Most games of a match that a sequential test is to end.
DEFAULT_SPRT_GAMES = 40_000


Look = Callable[[Callable[[], "MatchResult"]], None]
"""After every turn in which a game finished, told how to compute the result so far."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match as played.

    match_id    in the league; None when it was not recorded
    interim     fewer games than planned were played, because somebody interrupted it
    statistics  of the first player; None at tables of more than two, where `table` and `ratings`
                (in the order given) are
    returns     of both players on each seed, in games of one seat
    test        the sequential test, None without
    records     the games that count, in the order planned;  left_out: finished ones of unfinished
                pairs or blocks, which do not
    errors      what the environment said in each try that it spoiled by raising; those games were
                played again
    games_per_s  of those played now, None when all were stored
    notes       what a reader of the numbers should know
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

    @property
    def a(self) -> ResolvedPlayer:
        return self.plan.players[0]

    @property
    def b(self) -> ResolvedPlayer:
        return self.plan.players[1]

    @property
    def planned(self) -> int:
        return self.plan.games

    @property
    def paired(self) -> bool:
        """Every seed was played in all seats."""
        return self.plan.seating.paired

    @property
    def duel(self) -> MatchStatistics:
        """The statistics of a match of two."""
        assert self.statistics is not None
        return self.statistics

    @property
    def same_player(self) -> bool:
        return len({player.ref for player in self.plan.players}) == 1

    @property
    def spoiled(self) -> bool:
        """So many games raised that the rest may be a biased choice."""
        return is_spoiled(len(self.errors), len(self.records))


def play_match(
    *players: ResolvedPlayer,
    games: int | None = None,
    seed: int = 1,
    greedy: bool = False,
    sprt: Sprt | None = None,
    league: League | None = None,
    tables: int = DEFAULT_TABLES,
    concurrency: int = 1,
    on_start: Callable[[Match], None] | None = None,
    on_progress: Progress | None = None,
    on_look: Look | None = None,
    env: EnvSpec | None = None,
) -> MatchResult:
    """Play, and record in `league` unless it is None. Equal players, seed and settings give equal
    games.

    games   rounded up to whole pairs; None: 400, or, with a test that may end the match earlier, 40
            000 at most
    greedy  most likely actions instead of sampled ones;  sprt: ends the match as soon as it has
            decided
    tables  how many are played together;  concurrency: processes, which change no game; more than
            one needs the registered game
    env     the game, as `resolve_players` gives it; None: the registered one
    Ctrl-C ends the match early: whole pairs count and the result is marked interim; before the
    first whole pair it raises KeyboardInterrupt.
    Raises: PlayerError when the players cannot meet, MatchError for what makes no match,
    SnapshotError for unusable weights,
    EnvError when a game keeps raising.
    """
    spec = env or find_spec(players[0].env_name)
    plan = _plan(
        spec,
        players,
        games or (DEFAULT_GAMES if sprt is None else DEFAULT_SPRT_GAMES),
        seed,
        greedy,
        tables,
    )
    check_test(players, sprt is not None)
    if league is None:
        return _play(spec, plan, sprt, None, None, concurrency, on_progress, on_look)
    settings = (
        plan.settings()
        if sprt is None
        else {**plan.settings(), SPRT_KEY: {**asdict(sprt), "games": plan.games}}
    )
    first = plan.players[0]
    match = create_match(
        league,
        first.env_name,
        first.env_options,
        [player.ref for player in plan.players],
        plan.games,
        seed,
        settings,
    )
    with match_lock(league, match.id):
        if on_start is not None:
            on_start(match)
        return _play(spec, plan, sprt, league, match, concurrency, on_progress, on_look)


def resume_match(
    league: League,
    match: Match,
    players: Sequence[ResolvedPlayer],
    env: EnvSpec,
    *,
    concurrency: int = 1,
    on_start: Callable[[Match], None] | None = None,
    on_progress: Progress | None = None,
    on_look: Look | None = None,
) -> MatchResult:
    """Go on with a match where it stopped, to the games it would have come to; of a finished one,
    its result.

    players, env: those of the match, resolved anew. Raises: HeldError while another process plays
    it, MatchError when its plan is none of this version's; and as `play_match`.
    """
    settings = dict(match.settings)
    settings.pop(FAILED_KEY, None)
    test = settings.pop(SPRT_KEY, None)
    test = None if test is None else dict(test)
    planned = match.games if test is None else int(test.pop("games"))
    sprt = None if test is None else Sprt(**test)
    if "batch" not in settings:
        raise MatchError(
            f"match {match.id} was played by an older version, which kept no plan to go on "
            "with; play it anew: arena match A B"
        )
    plan = _plan(
        env,
        players,
        planned,
        match.seed,
        bool(settings["greedy"]),
        int(settings["batch"]),
        int(settings["opening_plies"]),
    )
    if plan.settings() != settings:
        raise MatchError(
            f"match {match.id} was planned as {settings}; now its players and game make "
            f"{plan.settings()}; play it anew"
        )
    with match_lock(league, match.id):
        if on_start is not None:
            on_start(match)
        match = fail_match(league, match, None)
        return _play(env, plan, sprt, league, match, concurrency, on_progress, on_look)


def _plan(
    env: EnvSpec,
    players: Sequence[ResolvedPlayer],
    games: int,
    seed: int,
    greedy: bool,
    batch: int,
    plies: int | None = None,
) -> MatchPlan:
    game = make_game(env, players[0].env_options)
    with closing(game):
        return plan_match(env, game, players, games, seed, greedy=greedy, batch=batch, plies=plies)


def check_test(players: Sequence[ResolvedPlayer], tested: bool) -> None:
    """tested: by a sequential test or an assertion. Raises: MatchError for more than two
    players.
    """
    if tested and len(players) > 2:
        raise MatchError(
            f"sequential tests and assertions compare two players, and {len(players)} were "
            "named; leave --sprt and --assert away"
        )


def _play(
    env: EnvSpec,
    plan: MatchPlan,
    sprt: Sprt | None,
    league: League | None,
    match: Match | None,
    concurrency: int,
    on_progress: Progress | None,
    on_look: Look | None,
) -> MatchResult:
    stored = stored_games(league, match) if league is not None and match is not None else []
    started_s = time.monotonic()
    with _failing(league, match), _keeping(league, match) as keep:
        results = PlayedGames(plan, keep, stored, sprt)
        before = len(results.games)
        notes: list[str] = []

        def look() -> None:
            if on_progress is not None:
                on_progress(len(results.games), plan.games)
            if on_look is not None and results.whole:
                played = len(results.games) - before
                on_look(
                    lambda: _result(
                        plan, results, match, played / (time.monotonic() - started_s), ()
                    )
                )

        if not results.complete:
            with closing(
                MatchHelpers(
                    env,
                    plan,
                    lambda batch: _missing(plan, results, batch),
                    lambda index: results.tries[index],
                    concurrency,
                )
            ) as crew:
                _play_all(crew, results, look)
            notes = crew.notes
    if not results.whole:
        raise KeyboardInterrupt
    if results.complete and league is not None and match is not None and match.finished_at is None:
        finish_match(league, match, results.end)
    if results.changed and plan.whole:
        notes.append(
            f"{results.changed} games came out otherwise when they were played again, on "
            "another machine or version; the stored ones count"
        )
    played = len(results.games) - before
    return _result(
        plan, results, match, played / (time.monotonic() - started_s) if played else None, notes
    )


@contextmanager
def _failing(league: League | None, match: Match | None) -> Iterator[None]:
    """What ends the match with an error, other than the league's own, is recorded with it."""
    try:
        yield
    except (GuestError, EnvError, SnapshotError) as error:
        if league is not None and match is not None:
            fail_match(league, match, str(error).partition("\n")[0])
        raise


@contextmanager
def _keeping(league: League | None, match: Match | None) -> Iterator[Callable[[GameRecord], None]]:
    """Where games are written; nowhere without a league."""
    if league is None or match is None:
        yield lambda record: None
        return
    with LeagueWriter(league, match) as writer:
        yield writer.game


def _missing(plan: MatchPlan, results: PlayedGames, batch: int) -> list[int]:
    """What is to be played of a batch: where that can be repeated, all of it again, so that
    networks see the very rows they would have seen.
    """
    games = plan.batch_games(batch)
    left = [index for index in games if index not in results.games]
    return list(games) if left and plan.whole else left


def _play_all(crew: MatchHelpers, results: PlayedGames, look: Callable[[], None]) -> None:
    """Until the match is complete, or Ctrl-C."""
    try:
        while not results.complete:
            before = len(results.games)
            for end in crew.turn():
                results.take(end)
            results.settle()
            if len(results.games) != before:
                look()
    except KeyboardInterrupt:
        return


def _result(
    plan: MatchPlan,
    results: PlayedGames,
    match: Match | None,
    games_per_s: float | None,
    notes: Sequence[str],
) -> MatchResult:
    counted = results.counted
    crowded = len(plan.players) > 2
    table = free_for_all(ranked_games(plan, counted), plan.seed) if crowded else None
    return MatchResult(
        plan=plan,
        match_id=match.id if match else None,
        statistics=None if crowded else match_statistics(duel_games(plan, counted)),
        table=table,
        ratings=_ratings(plan, results) if crowded else (),
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
    """In the order given; `random`, or else the first, is 0."""
    names = [player.ref.name for player in plan.players]
    rankings = [Ranking(game.players, game.places) for game in ranked_games(plan, results.counted)]
    found = fit_rankings(rankings, names.index(RANDOM) if RANDOM in names else 0)
    return tuple(sorted(found, key=lambda rating: rating.player))
