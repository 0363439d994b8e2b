"""Resuming a match that was interrupted: finding it, its players, and how the user is told."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from arena.cli.match_options import progress_bar
from arena.cli.output import say
from arena.data.paths import data_dir, data_text, league_path
from arena.guests.player import GuestError
from arena.league.database import League, open_league
from arena.league.matches import (
    OBJECTIVE_KEY,
    PERSON_KEY,
    SPRT_KEY,
    Match,
    MatchError,
    find_match,
    newest_unfinished,
    unfinished_matches,
)
from arena.matches.assertions import Assertion, read_assertions
from arena.matches.match_result import PlayedMatch
from arena.matches.plan import check_meeting
from arena.matches.play import check_test, resume_match
from arena.matches.report import resume_command
from arena.players.resolve import ResolvedPlayer, resolve_players
from arena.words import number_of
from pbt.envs.contract import EnvSpec
from pbt.envs.measuring import as_played
from pbt.errors import EnvError, SnapshotError
from pbt.records import PlayerRef

LAST = "last"
ID_DIGITS = 8

# Parameters of `match` that the stored plan of a resumed match decides, and their options.
_PLANNED = {
    "games": "--games",
    "seed": "--seed",
    "greedy": "--greedy",
    "env": "--env",
    "options": "--set",
    "objective": "--objective",
    "sprt": "--sprt",
    "record": "--no-record",
    "fresh": "--fresh",
}


def refuse_planned_options(ctx: typer.Context, resume: str) -> None:
    """Raises: MatchError for options that the stored plan of the match has decided already."""
    planned = [
        option
        for name, option in _PLANNED.items()
        if ctx.get_parameter_source(name).name != "DEFAULT"  # type: ignore[union-attr]
    ]
    if planned:
        raise MatchError(
            f"--resume {resume} with {', '.join(planned)}: the plan of this match is stored "
            f"already; leave {'it' if len(planned) == 1 else 'them'} out"
        )


def resume_from_league(
    number: str,
    names: Sequence[str],
    asserted: Sequence[str],
    processes: int,
    move_timeout_s: float,
    data: Path | None,
) -> tuple[PlayedMatch, tuple[Assertion, ...]]:
    """Play the rest of a stored match.

    number     as typed behind --resume: the match's number, or "last"
    names      the players as typed; needed only for players that are programs
    asserted   the texts of --assert
    processes  how many helper processes play at the same time
    Raises: MatchError when there is no such match, or the players are other ones.
    """
    if not league_path(data_dir(data)).exists():
        raise MatchError(
            f"--resume {number}: there is no league in {data_dir(data)}; name the data directory "
            "of the match with --data"
        )
    with open_league(league_path(data_dir(data))) as league:
        begun = _find(league, number)
        assertions = read_assertions(asserted, tested=SPRT_KEY in begun.settings)
        spec, players = _players_of(begun, names, move_timeout_s, data)
        _check_tested(begun, spec, players, assertions)
        with (
            telling_how_to_resume(players, data) as on_start,
            progress_bar(title_of(players)) as on_progress,
        ):
            result = resume_match(
                league,
                begun,
                players,
                spec,
                concurrency=processes,
                on_start=on_start,
                on_progress=on_progress,
            )
    return result, assertions


def _check_tested(
    begun: Match, env: EnvSpec, players: Sequence[ResolvedPlayer], assertions: Sequence[Assertion]
) -> None:
    """Check that a match with assertions can have them. Raises: MatchError, PlayerError."""
    objective = begun.settings.get(OBJECTIVE_KEY, "win")
    meeting = check_meeting(env, players, objective)
    check_test(meeting.seating, meeting.objective, bool(assertions))


def _find(league: League, number: str) -> Match:
    if number == LAST:
        newest = newest_unfinished(league)
        say(
            f"--resume last is match {newest.id}, "
            + " vs ".join(_short(player) for player in newest.players)
            + _passed_over(league, newest)
        )
        return newest
    if not number.isdecimal():
        raise MatchError(
            f'--resume {number}: expected the number of a match, or "{LAST}"; `arena match` '
            "prints the number when it begins"
        )
    return find_match(league, int(number))


def _short(player: PlayerRef) -> str:
    """A name by which the player can be given again; not for programs, which need their path."""
    return player.name[:ID_DIGITS] if player.kind == "snapshot" else player.name


def _passed_over(league: League, chosen: Match) -> str:
    """A note on the matches that began later and failed, if any."""
    later = [match for match in unfinished_matches(league) if match.id > chosen.id and match.failed]
    return "".join(f"; match {match.id} failed: {match.failed}" for match in later)


def _players_of(
    begun: Match, names: Sequence[str], move_timeout_s: float, data: Path | None
) -> tuple[EnvSpec, list[ResolvedPlayer]]:
    """The game and the players of a stored match.

    names  the players as typed; needed only for programs, because a stored path is never run
    Raises: MatchError when these are not the players that began the match.
    """
    guests = [player.name for player in begun.players if player.kind == "guest"]
    if PERSON_KEY in begun.settings:
        raise MatchError(
            f"match {begun.id} was played by hand, by {', '.join(guests)}; `arena replay "
            f"match:{begun.id}:0` shows it"
        )
    if guests and not names:
        again = " ".join(
            "exec:PROGRAM" if player.kind == "guest" else _short(player) for player in begun.players
        )
        raise MatchError(
            f"match {begun.id} was played by {', '.join(guests)}; name its players again: "
            f"arena match {again} --resume {begun.id}"
        )
    trained = any(player.kind == "snapshot" for player in begun.players)
    options = None if trained else begun.env_options
    spec, players = resolve_players(
        list(names) or [player.name for player in begun.players],
        data,
        begun.env_name,
        options=options,
        allow_files=True,
        move_timeout_s=move_timeout_s,
    )
    _check_same_players(begun, players)
    return as_played(spec, players[0].env_options), players


def _check_same_players(begun: Match, players: Sequence[ResolvedPlayer]) -> None:
    """Raises: MatchError when these are not the players that began the match, in order."""
    if tuple(player.ref for player in players) != begun.players:
        stored, named = (
            ", ".join(ref.name for ref in refs)
            for refs in (begun.players, [player.ref for player in players])
        )
        raise MatchError(
            f"match {begun.id} was begun by {stored}; found {named}: expected the same "
            "players in the same order, or none named"
        )


def title_of(players: Sequence[ResolvedPlayer]) -> str:
    return " vs ".join(player.label for player in players)


@contextmanager
def telling_how_to_resume(
    players: Sequence[ResolvedPlayer], data: Path | None
) -> Iterator[Callable[[Match], None]]:
    """Yield a callback that prints, when the match begins, the command that resumes it.

    Ctrl-C before the first pair is complete leaves no report, nor does an error of the game or of a
    player; the command is then printed again.
    """
    commands: list[str] = []

    def begins(begun: Match) -> None:
        commands.append(f"{resume_command(begun.id, players)}{data_text(data)}")
        games = number_of(begun.games, "game")
        say(f"match {begun.id}: {games}; to resume it later: {commands[0]}")

    try:
        yield begins
    except KeyboardInterrupt:
        go_on = "".join(f"; go on with: {command}" for command in commands)
        say(f"stopped before the first pair of games was complete{go_on}")
        raise
    except (EnvError, GuestError, SnapshotError):
        for command in commands:
            say(f"complete pairs are kept; once the cause is mended, go on with: {command}")
        raise
