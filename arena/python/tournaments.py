"""`arena.tournament`: matches of every player against every other one, and their ratings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena.argument_kinds import check_kinds
from arena.data.paths import data_dir, league_path
from arena.league.database import open_league, upgrade_league
from arena.league.ratings import match_table
from arena.matches.game_list import Progress, is_spoiled
from arena.matches.lengths import TOURNAMENT_GAMES
from arena.matches.match_result import PlayedMatch
from arena.matches.tournament import (
    Fixture,
    Tournament,
    different_players,
    plan_tournament,
    play_tournament,
)
from arena.python.arguments import check_counts
from arena.python.matches import MatchResult, match_result
from arena.python.own_games import Env
from arena.python.players import NamedPlayers, named_players
from arena.python.process import left_as_it_was
from arena.python.ratings import FlatRating, RatedScope


@dataclass(frozen=True)
class TournamentResult:
    """The result of a tournament.

    env      the game
    players  names, each once
    matches  as played so far, in the order of the plan
    planned  number of matches of the whole plan
    interim  a KeyboardInterrupt ended it early; the same call goes on
    errors   number of tries that the game spoiled by raising; they were played again
    spoiled  that were too many: do not trust the numbers
    ratings  from these matches alone; without rows where returns count
    played   the tournament itself, as the command line has it
    """

    env: str
    players: tuple[str, ...]
    matches: tuple[MatchResult, ...]
    planned: int
    interim: bool
    errors: int
    spoiled: bool
    ratings: RatedScope = field(repr=False)
    played: Tournament = field(repr=False)

    def records(self) -> list[FlatRating]:
        """The rows of the rating table, the surest strength first."""
        return self.ratings.records()


def tournament(
    players: Sequence[str],
    *,
    games: int = TOURNAMENT_GAMES,
    rounds: int = 1,
    seed: int = 1,
    concurrency: int = 1,
    data: Path | str | None = None,
    env: Env | None = None,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    on_progress: Progress | None = None,
) -> TournamentResult:
    """Let every two players meet equally often, and rate them by these games alone.

    players      names, two or more; two names of one player count once
    games        of each match, rounded up to whole blocks
    rounds       number of round robins, each with its own seeds
    concurrency  number of processes of a match
    on_progress  called with (games finished, games planned) of the whole tournament
    The other arguments are those of `arena.match`. The matches are stored in the league, and the
    same call goes on where it was stopped: a KeyboardInterrupt keeps whole blocks.
    Raises: PlayerError for fewer than two players and players that cannot meet; and as `match`.
    """
    check_counts("the tournament", games=games, rounds=rounds, seed=seed, concurrency=concurrency)
    upgrade_league(league_path(data_dir(data)))
    named = named_players(players, data=data, env=env, options=options, objective=objective)
    fixtures = fixtures_of(named, rounds=rounds, seed=seed)
    return play_fixtures(
        named, fixtures, games=games, concurrency=concurrency, data=data, on_progress=on_progress
    )


def fixtures_of(named: NamedPlayers, *, rounds: int, seed: int) -> list[Fixture]:
    """The plan of a tournament of the different ones of these players. Raises: PlayerError."""
    check_counts("the tournament", rounds=rounds, seed=seed)
    return plan_tournament(named.env, different_players(named.players), rounds, seed)


def play_fixtures(
    named: NamedPlayers,
    fixtures: Sequence[Fixture],
    *,
    games: int,
    concurrency: int,
    data: Path | str | None,
    on_match: Callable[[Fixture, PlayedMatch], None] = lambda fixture, result: None,
    on_progress: Progress | None = None,
) -> TournamentResult:
    """Play the matches of a plan that are not played yet.

    on_match  called with each result, those of stored matches included
    """
    check_counts("the tournament", games=games, concurrency=concurrency)
    check_kinds("the tournament", {"on_progress": on_progress})
    with left_as_it_was(), open_league(league_path(data_dir(data))) as league:
        played = play_tournament(
            league,
            named.env,
            fixtures,
            games,
            concurrency=concurrency,
            on_match=on_match,
            on_progress=on_progress,
        )
        table = match_table(league, played.match_ids)
    counted = sum(len(result.records) for _, result in played.results)
    return TournamentResult(
        env=named.players[0].env_name,
        players=tuple(player.label for player in different_players(named.players)),
        matches=tuple(match_result(result) for _, result in played.results),
        planned=len(played.planned),
        interim=played.interim,
        errors=played.errors,
        spoiled=is_spoiled(played.errors, counted),
        ratings=RatedScope("tournament", table),
        played=played,
    )
