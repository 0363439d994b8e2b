"""`arena tournament`: matches of every player against every other one, and their ratings."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.app import INTERRUPTED
from arena.cli.match_options import (
    NAMES,
    EnvOption,
    MoveTimeoutOption,
    ObjectiveOption,
    OptionsOption,
    SeedOption,
    exit_spoiled,
    players_named,
    progress_bar,
)
from arena.cli.match_text import match_lines
from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.cli.rating_report import standings_report
from arena.cli.rating_table import print_standings
from arena.data.paths import data_dir, data_text, league_path
from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S
from arena.league.database import upgrade_league
from arena.league.ratings import RatingTable
from arena.matches.lengths import MOST_GAMES, MOST_PROCESSES, MOST_ROUNDS, TOURNAMENT_GAMES
from arena.matches.match_result import PlayedMatch
from arena.matches.report import match_report
from arena.matches.report_schema import DuelReport, PartnersReport
from arena.matches.tournament import Fixture, Tournament, different_players
from arena.matches.verdict import verdict
from arena.players.resolve import ResolvedPlayer
from arena.python.tournaments import TournamentResult, fixtures_of, play_fixtures
from arena.words import number_of

PlayersArgument = Annotated[
    list[str], typer.Argument(metavar="A B [C ...]", help=NAMES, show_default=False)
]
GamesOption = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_GAMES,
        help="Games of each match, in pairs with the seats swapped (larger tables: of a round, in "
        "blocks).",
    ),
]
RoundsOption = Annotated[
    int,
    typer.Option(min=1, max=MOST_ROUNDS, help="How many round robins, each with its own seeds."),
]
ConcurrencyOption = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_PROCESSES,
        help="Processes per match. They take seconds to start, so more pay in long matches.",
    ),
]


def tournament(
    players: PlayersArgument,
    games: GamesOption = TOURNAMENT_GAMES,
    rounds: RoundsOption = 1,
    seed: SeedOption = 1,
    concurrency: ConcurrencyOption = 1,
    move_timeout_s: MoveTimeoutOption = DEFAULT_MOVE_TIMEOUT_S,
    env: EnvOption = None,
    options: OptionsOption = None,
    objective: ObjectiveOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let every two players meet equally often, and rate them by these games alone.

    The matches (at larger tables one in each round) are stored in the league. The same command goes
    on where it was stopped: Ctrl-C keeps complete pairs, and played matches count. Exit codes as of
    `arena match`: 3 a player that is a program cannot be used; 4 more than one game and more than
    1 % of the games raised an error; 130 Ctrl-C.
    """
    upgrade_league(league_path(data_dir(data)))
    named = players_named(players, data, env, options, move_timeout_s, objective)
    _say_of_doubles(named.players)
    fixtures = fixtures_of(named, rounds=rounds, seed=seed)
    with progress_bar(f"tournament of {len(different_players(named.players))}") as on_progress:
        result = play_fixtures(
            named,
            fixtures,
            games=games,
            concurrency=concurrency,
            data=data,
            on_match=_say_match
            if sys.stderr.isatty() or not as_json
            else lambda fixture, result: None,
            on_progress=on_progress,
        )
    played, table = result.played, result.ratings.table
    if as_json:
        print_json(tournament_report(played, table))
    elif played.results:
        _show(played, table, data)
    _exit(result)


def _say_of_doubles(named: Sequence[ResolvedPlayer]) -> None:
    """Say where a name is of a player named before."""
    different = different_players(named)
    if 1 < len(different) < len(named):
        say(f"note: the {len(named)} names are of {len(different)} players; each plays once")


def _show(played: Tournament, table: RatingTable, data: Path | None) -> None:
    """Print the table, or where returns count every match, and where it is stored."""
    if table.objective == "return":
        for _, result in played.results:
            print("\n".join(match_lines(result, data=data)))
        print(f"Saved: {_matches(played)}")
        return
    print_standings(_title(played), table, top=0)
    print(
        f"Saved: {_matches(played)}; every player against every other one: arena matrix "
        f"--env {played.planned[0].players[0].env_name}{data_text(data)}"
    )


def _say_match(fixture: Fixture, result: PlayedMatch) -> None:
    number = f"match {result.match_id}: " if result.match_id is not None else ""
    interim = " (interim)" * result.interim
    names = " vs ".join(player.label for player in result.plan.players)
    stats = result.statistics
    if stats is None or result.margin is not None:
        said = f"{verdict(result)}, after {number_of(len(result.records), 'game')}"
    else:
        games = number_of(stats.total.games, "game")
        said = f"{stats.score:.1%} [{stats.low:.1%}, {stats.high:.1%}] of {games}"
    say(f"{number}{names}   {said}{interim}")


def _title(played: Tournament) -> str:
    number = len(played.results)
    state = (
        "interim, the same command goes on"
        if played.interim
        else f"{number} match{'es' * (number != 1)}"
    )
    return f"tournament   {played.planned[0].players[0].env_name}, {state}"


def _matches(played: Tournament) -> str:
    ids: Sequence[int] = sorted(played.match_ids)
    return f"match {ids[0]}" if len(ids) == 1 else f"matches {', '.join(map(str, ids))}"


def tournament_report(played: Tournament, table: RatingTable) -> dict[str, Any]:
    """The matches and the table, for programs."""
    first = played.planned[0].players[0]
    return {
        "env": first.env_name,
        "env_options": first.env_options,
        "planned_matches": len(played.planned),
        "interim": played.interim,
        "matches": [_match_report(fixture, result) for fixture, result in played.results],
        **standings_report(table),
    }


def _match_report(fixture: Fixture, result: PlayedMatch) -> dict[str, Any]:
    """One match for `--json`; score, low and high are those of a.

    At larger tables there is no score: the standings stand in its place.
    """
    report = match_report(result)
    if not isinstance(report, DuelReport):
        table = report.model_dump(mode="json", include={"standings", "games", "verdict"})
        if isinstance(report, PartnersReport):
            table["partners"] = [one.model_dump(mode="json") for one in report.players]
        players = [player.label for player in result.plan.players]
        return {
            "match": result.match_id,
            "round": fixture.round,
            "seed": fixture.seed,
            "players": players,
            **table,
            "interim": result.interim,
        }
    stats = result.duel
    return {
        "match": result.match_id,
        "round": fixture.round,
        "seed": fixture.seed,
        "a": result.a.label,
        "b": result.b.label,
        "score": stats.score,
        "low": stats.low,
        "high": stats.high,
        "games": stats.total.games,
        **asdict(stats.total),
        "margin": None if report.margin is None else report.margin.model_dump(mode="json"),
        "interim": result.interim,
    }


def _exit(result: TournamentResult) -> None:
    if result.interim:
        if not result.matches:
            say("interrupted before the first pair of games was complete")
        raise typer.Exit(INTERRUPTED)
    if result.spoiled:
        exit_spoiled(result.errors, number_of(sum(one.games for one in result.matches), "game"))
