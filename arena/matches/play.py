"""Plays matches: planned games between players, recorded in a league, resumable at any moment.

Games come in blocks of one seed in which every player takes every seat that it can, so that neither
the seed nor the seats favour a player.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from typing import Any

from arena.guests.player import GuestError
from arena.league.altered import refuse_altered
from arena.league.chain import chain_head, chain_of_match
from arena.league.database import League
from arena.league.fresh_matches import no_headline
from arena.league.match_locks import match_lock
from arena.league.matches import (
    FRESH_KEY,
    SPRT_KEY,
    Match,
    MatchError,
    create_match,
    fail_match,
    finish_match,
    seed_of_games,
    stored_games,
)
from arena.league.writer import LeagueWriter
from arena.matches.game_faults import faults_folder
from arena.matches.game_list import Progress
from arena.matches.helper_group import MatchHelpers
from arena.matches.lengths import MATCH_GAMES, SPRT_GAMES
from arena.matches.match_result import PlayedMatch, match_result
from arena.matches.plan import MatchPlan, plan_again, plan_match
from arena.matches.results import PlayedGames
from arena.matches.seating import Seating
from arena.matches.stored import stored_test
from arena.matches.tables import DEFAULT_TABLES
from arena.players.resolve import ResolvedPlayer
from arena.stats.sprt import Sprt
from pbt.envs.contract import EnvSpec
from pbt.envs.registry import spec as find_spec
from pbt.errors import EnvError, SnapshotError
from pbt.objective import ObjectiveKind
from pbt.records import GameRecord

Look = Callable[[Callable[[], PlayedMatch]], None]
"""Called after every turn in which a game finished, with a function that computes the result."""


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
    objective: ObjectiveKind | None = None,
    fresh: bool = False,
) -> PlayedMatch:
    """Play a match and record it in `league`, unless that is None.

    Equal players, seed and settings give equal games.
    games        rounded up to whole blocks; None for MATCH_GAMES, or SPRT_GAMES with a
                 sequential test
    greedy       players take their most likely actions instead of sampled ones
    sprt         ends the match as soon as it has decided
    tables       number of games that are played together
    concurrency  number of processes, which change no game; more than one needs a registered game
    env          the game, as `resolve_players` gives it; None for the registered one
    objective    what decides between the players; None: as `arena.matches.plan.check_meeting`
    fresh        its games count in no rating, and its seeds are those of no other match
    Ctrl-C ends the match early: whole blocks count; before the first it raises KeyboardInterrupt.
    Raises: PlayerError when the players cannot meet, MatchError for settings that make no match,
    SnapshotError for unusable weights, EnvError when a game keeps raising.
    """
    spec = env or find_spec(players[0].env_name)
    most = games or (MATCH_GAMES if sprt is None else SPRT_GAMES)
    seed = _checked_seed(seed, fresh=fresh, greedy=greedy)
    plan = plan_match(spec, players, most, seed, greedy=greedy, batch=tables, objective=objective)
    check_test(plan.seating, plan.objective, sprt is not None)
    if sprt is not None and plan.objective == "margin":
        sprt = replace(sprt, model="margin")
    if league is None:
        return _play(spec, plan, sprt, None, None, concurrency, on_progress, on_look)
    match = _new_match(league, plan, sprt, fresh=fresh)
    with match_lock(league, match.id):
        if on_start is not None:
            on_start(match)
        return _play(spec, plan, sprt, league, match, concurrency, on_progress, on_look)


def _new_match(league: League, plan: MatchPlan, sprt: Sprt | None, *, fresh: bool) -> Match:
    """Make the match's row in the league."""
    settings: dict[str, Any] = {
        **plan.settings(),
        **({} if sprt is None else {SPRT_KEY: {**asdict(sprt), "games": plan.games}}),
        **({FRESH_KEY: True} if fresh else {}),
    }
    first = plan.players[0]
    return create_match(
        league,
        first.env_name,
        first.env_options,
        [player.ref for player in plan.players],
        plan.games,
        plan.seed,
        settings,
    )


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
) -> PlayedMatch:
    """Go on with a match where it stopped. A finished match only gives its result.

    The games are those that an uninterrupted match would have come to.
    players  those of the match, resolved anew
    env      the match's game, resolved anew
    Raises: HeldError while another process plays it, MatchError when this version would plan it
    differently, AlteredError when its rows are not those it committed; and as `play_match`.
    """
    plan, sprt = plan_again(env, players, match), stored_test(match)[1]
    with match_lock(league, match.id):
        refuse_altered(league, match)
        if on_start is not None:
            on_start(match)
        match = fail_match(league, match, None)
        return _play(env, plan, sprt, league, match, concurrency, on_progress, on_look)


def check_test(seating: Seating, objective: ObjectiveKind, tested: bool) -> None:
    """Check that a tested match is one of two players in games of at most two seats.

    tested  it has a sequential test or an assertion
    Raises: MatchError for another match, and where players sit with themselves.
    """
    if tested and seating.kind == "partners":
        raise MatchError(
            "sequential tests and assertions compare the games that two players win of each other, "
            f'and by the objective "{objective}" each is measured with copies of itself and beside '
            "the other; leave --sprt and --assert out, or name another --objective (in Python "
            "sprt= and objective=)"
        )
    if tested and not seating.duel:
        named = len({player for sitting in seating.sittings for player in sitting})
        raise MatchError(
            "sequential tests and assertions compare the games that two players win of each other, "
            f"and this match has {named} players at tables of {len(seating.sittings[0])}; leave "
            "--sprt and --assert out (in Python sprt=)"
        )


def _checked_seed(asked: int, *, fresh: bool, greedy: bool) -> int:
    """The seed of a match. Raises: MatchError for fresh games that are not of sampled actions."""
    if fresh and greedy:
        raise MatchError(
            "fresh games measure a player as ratings do, by sampled actions; leave --fresh or "
            "--greedy out (in Python fresh= and greedy=)"
        )
    return seed_of_games(asked, fresh=fresh)


def _play(
    env: EnvSpec,
    plan: MatchPlan,
    sprt: Sprt | None,
    league: League | None,
    match: Match | None,
    concurrency: int,
    on_progress: Progress | None,
    on_look: Look | None,
) -> PlayedMatch:
    """Play what is missing of a match, end its row, and return its result."""
    stored = stored_games(league, match) if league is not None and match is not None else []
    started_s = time.monotonic()
    with _recording(league, match) as keep:
        results = PlayedGames(plan, keep, stored, sprt)
        before = len(results.games)
        notes: list[str] = []

        def look() -> None:
            if on_progress is not None:
                on_progress(len(results.games), plan.games)
            if on_look is not None and results.whole:
                speed = (len(results.games) - before) / (time.monotonic() - started_s)
                on_look(lambda: match_result(plan, results, match, speed, ()))

        if not results.complete:
            with closing(
                MatchHelpers(
                    env,
                    plan,
                    lambda batch: _missing(plan, results, batch),
                    lambda index: results.tries[index],
                    concurrency,
                    faults_folder(plan.players, league),
                )
            ) as helpers:
                _play_all(helpers, results, look)
            notes = helpers.notes
    if not results.whole:
        raise KeyboardInterrupt
    if results.complete and league is not None and match is not None and match.finished_at is None:
        finish_match(league, match, results.end)
    notes += [*_changed_games(plan, results), *_fresh_notes(match)]
    played = len(results.games) - before
    games_per_s = played / (time.monotonic() - started_s) if played else None
    return _headed(league, match_result(plan, results, match, games_per_s, notes))


def _headed(league: League | None, result: PlayedMatch) -> PlayedMatch:
    """The result with the head of the match's chain, if the match is recorded."""
    if league is None or result.match_id is None:
        return result
    return replace(result, head=chain_head(league, chain_of_match(result.match_id))[1])


def _fresh_notes(match: Match | None) -> list[str]:
    """A note on a fresh match that `arena league` does not show as the strength of a player."""
    if match is None or not match.settings.get(FRESH_KEY):
        return []
    reason = no_headline(match.players, stored_test(match)[0], match.settings)
    return [f"fresh games, but not those that stand below @best: {reason}"] if reason else []


def _changed_games(plan: MatchPlan, results: PlayedGames) -> list[str]:
    """A note on games that should have come out as they are stored, and did not."""
    if not results.changed or not plan.whole:
        return []
    return [
        f"{results.changed} games came out differently when they were played again, on another "
        "machine or version; the stored ones count"
    ]


@contextmanager
def _recording(
    league: League | None, match: Match | None
) -> Iterator[Callable[[GameRecord], None]]:
    """Yield a function that stores a game in the league; it does nothing without a league.

    Inside, an error that ends the match is recorded with it, unless it is the league's own.
    """
    if league is None or match is None:
        yield lambda record: None
        return
    try:
        with LeagueWriter(league, match) as writer:
            yield writer.game
    except (GuestError, EnvError, SnapshotError) as error:
        fail_match(league, match, str(error).partition("\n")[0])
        raise


def _missing(plan: MatchPlan, results: PlayedGames, batch: int) -> list[int]:
    """Indices of the games of a batch that are to be played.

    An unfinished batch that can be repeated exactly is played again as a whole: its networks then
    see the same rows together as without the interruption.
    """
    games = plan.batch_games(batch)
    left = [index for index in games if index not in results.games]
    return list(games) if left and plan.whole else left


def _play_all(helpers: MatchHelpers, results: PlayedGames, look: Callable[[], None]) -> None:
    """Play until the match is complete, or until Ctrl-C."""
    try:
        while not results.complete:
            before = len(results.games)
            for end in helpers.turn():
                results.take(end)
            results.settle()
            if len(results.games) != before:
                look()
    except KeyboardInterrupt:
        return
