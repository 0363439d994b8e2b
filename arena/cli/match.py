"""`arena match`: how good is a player, against others."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.app import INTERRUPTED
from arena.cli.match_options import (
    NAMES,
    SPOILED,
    EnvOption,
    GreedyOption,
    MoveTimeoutOption,
    OptionsOption,
    SeedOption,
    progress_bar,
    say_spoiled,
)
from arena.cli.match_text import match_lines
from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.data.paths import data_dir, data_text, league_path
from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S
from arena.host import usable_cores
from arena.league.database import League, open_league, upgrade_league
from arena.league.matches import (
    PERSON_KEY,
    SPRT_KEY,
    Match,
    MatchError,
    find_match,
    newest_unfinished,
    unfinished_matches,
)
from arena.matches.assertions import Assertion, holds, read_assertions
from arena.matches.match_result import MatchResult
from arena.matches.plan import check_meeting
from arena.matches.play import (
    DEFAULT_GAMES,
    DEFAULT_SPRT_GAMES,
    check_test,
    play_match,
    resume_match,
)
from arena.matches.report import match_json, resume_command
from arena.players.resolve import ResolvedPlayer, resolve_players
from arena.stats.sprt import Sprt
from pbt.config.load import options_from
from pbt.envs.contract import EnvSpec
from pbt.errors import EngineError
from pbt.records import PlayerRef

FAILED, UNDECIDED = 5, 6
LAST = "last"
ID_DIGITS = 8
# What the plan of a match that is gone on with says.
_PLANNED = {
    "games": "--games",
    "seed": "--seed",
    "greedy": "--greedy",
    "env": "--env",
    "options": "--set",
    "sprt": "--sprt",
    "record": "--no-record",
}

GamesOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help=(
            f"Games, in pairs with the seats swapped; {DEFAULT_GAMES} without it, with "
            f"--sprt {DEFAULT_SPRT_GAMES} at most."
        ),
        show_default=False,
    ),
]
SprtOption = Annotated[
    str | None,
    typer.Option(
        "--sprt", metavar="ELO0,ELO1", help=("Stop as soon as it is clear which is true, in "
"normalised Elo; each error 5 %."), show_default=False
    ),
]  # fmt: skip
AssertOption = Annotated[
    list[str] | None,
    typer.Option(
        "--assert",
        metavar="TEXT",
        help=(
            'Exit 5 unless it holds: "score>0.55" (score, low, high, los, elo), or sprt: '
            "exit 5 on H0, 6 while undecided. May be given often."
        ),
        show_default=False,
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Processes, as many as cores without it; games are the same with any number.",
        show_default=False,
    ),
]
ResumeOption = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="MATCH",
        help='Go on with an unfinished match: the number it began with, or "last".',
        show_default=False,
    ),
]


def match(
    ctx: typer.Context,
    players: Annotated[
        list[str] | None, typer.Argument(metavar="A B...", help=NAMES, show_default=False)
    ] = None,
    games: GamesOption = None,
    seed: SeedOption = 1,
    greedy: GreedyOption = False,
    sprt: SprtOption = None,
    asserted: AssertOption = None,
    concurrency: ConcurrencyOption = None,
    resume: ResumeOption = None,
    move_timeout_s: MoveTimeoutOption = DEFAULT_MOVE_TIMEOUT_S,
    env: EnvOption = None,
    options: OptionsOption = None,
    record: Annotated[
        bool, typer.Option("--record/--no-record", help="Keep the games in the league.")
    ] = True,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play A against B; the score is A's. With more names, in games of as many seats, everybody
    plays everybody and the places count.

    Exit codes: 0; 1 for an error of the game, of weights or of the league; 2 for what was typed; 3
    for a program that cannot be played with; 4 when more than one game and more than 1 % of them
    raised; 5 when an --assert does not hold; 6 when a sequential test that was asserted did not
    decide; 130 after Ctrl-C, which keeps whole pairs: `--resume` goes on; 141 when nobody reads the
    output any more.
    """
    names, processes = players or [], concurrency or usable_cores()
    if resume is not None:
        _refuse_planned(ctx, resume)
        result, assertions = _resume(resume, names, asserted or (), processes, move_timeout_s, data)
    else:
        if len(names) < 2:
            raise MatchError(
                f"players named: {len(names)}; expected two or more, such as `arena match "
                "demo@best random`"
            )
        test = None if sprt is None else read_sprt(sprt)
        assertions = read_assertions(asserted or (), tested=test is not None)
        if record:
            upgrade_league(league_path(data_dir(data)))
        spec, found = resolve_players(
            names,
            data,
            env,
            options=options_from(options or ()),
            allow_files=True,
            move_timeout_s=move_timeout_s,
        )
        check_meeting(spec, found)
        check_test(found, test is not None or bool(assertions))
        plan = {
            "games": games,
            "seed": seed,
            "greedy": greedy,
            "sprt": test,
            "concurrency": processes,
        }
        result = _play(spec, found, data, record=record, **plan)
    _tell(result, assertions, data, as_json=as_json)
    _exit(result, assertions)


def _play(
    env: EnvSpec, players: Sequence[ResolvedPlayer], data: Path | None, *, record: bool, **plan: Any
) -> MatchResult:
    """A new match, with a bar and a word on how it can go on. plan: for `play_match`"""
    with (
        open_league(league_path(data_dir(data))) if record else nullcontext() as league,
        _saying_how_to_go_on(players, data) as on_start,
        progress_bar(_title(players)) as on_progress,
    ):
        return play_match(
            *players, league=league, on_start=on_start, on_progress=on_progress, env=env, **plan
        )


def _refuse_planned(ctx: typer.Context, resume: str) -> None:
    """Raises: MatchError for options that a match which goes on has decided already."""
    given = [
        option
        for name, option in _PLANNED.items()
        if ctx.get_parameter_source(name).name != "DEFAULT"  # type: ignore[union-attr]
    ]
    if given:
        raise MatchError(
            f"--resume {resume} with {', '.join(given)}: the match has its plan; leave "
            f"{'it' if len(given) == 1 else 'them'} away"
        )


def _tell(
    result: MatchResult, assertions: Sequence[Assertion], data: Path | None, *, as_json: bool
) -> None:
    if as_json:
        print_json(match_json(result, assertions))
    else:
        print("\n".join(match_lines(result, assertions, data)))


def _resume(
    wanted: str,
    names: Sequence[str],
    asserted: Sequence[str],
    processes: int,
    move_timeout_s: float,
    data: Path | None,
) -> tuple[MatchResult, tuple[Assertion, ...]]:
    if not league_path(data_dir(data)).exists():
        raise MatchError(
            f"--resume {wanted}: no league in {data_dir(data)}; name the data directory the "
            "match was played in with --data"
        )
    with open_league(league_path(data_dir(data))) as league:
        begun = _find(league, wanted)
        assertions = read_assertions(asserted, tested=SPRT_KEY in begun.settings)
        spec, found = _players_of(begun, names, move_timeout_s, data)
        check_test(found, bool(assertions))
        with (
            _saying_how_to_go_on(found, data) as on_start,
            progress_bar(_title(found)) as on_progress,
        ):
            result = resume_match(
                league,
                begun,
                found,
                spec,
                concurrency=processes,
                on_start=on_start,
                on_progress=on_progress,
            )
    return result, assertions


def _find(league: League, wanted: str) -> Match:
    if wanted == LAST:
        found = newest_unfinished(league)
        say(
            f"--resume last is match {found.id}, "
            + " vs ".join(_short(player) for player in found.players)
            + _passed_over(league, found)
        )
        return found
    if not wanted.isdigit():
        raise MatchError(
            f'--resume {wanted}: expected the number of a match, or "{LAST}"; `arena match` '
            "prints the number when it begins"
        )
    return find_match(league, int(wanted))


def _short(player: PlayerRef) -> str:
    """A name it can be called by, but for a program."""
    return player.name[:ID_DIGITS] if player.kind == "snapshot" else player.name


def _passed_over(league: League, found: Match) -> str:
    """Matches that began later and failed, if any."""
    later = [match for match in unfinished_matches(league) if match.id > found.id and match.failed]
    return "".join(f"; match {match.id} failed: {match.failed}" for match in later)


def _players_of(
    begun: Match, names: Sequence[str], move_timeout_s: float, data: Path | None
) -> tuple[EnvSpec, list[ResolvedPlayer]]:
    """names: as typed, needed for programs only: what is stored is never run. Raises: MatchError
    when they are other players than began.
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
    asked = list(names) or [player.name for player in begun.players]
    spec, found = resolve_players(
        asked,
        data,
        begun.env_name,
        options=options,
        allow_files=True,
        move_timeout_s=move_timeout_s,
    )
    if tuple(player.ref for player in found) != begun.players:
        expected, given = (
            ", ".join(ref.name for ref in refs)
            for refs in (begun.players, [player.ref for player in found])
        )
        raise MatchError(
            f"match {begun.id} was begun by {expected}; found {given}: expected the same "
            "players in the same order, or none named"
        )
    return spec, found


def read_sprt(text: str) -> Sprt:
    """ "0,10": elo0 and elo1. Raises: MatchError."""
    try:
        elo0, elo1 = (float(part) for part in text.split(","))
        return Sprt(elo0, elo1)
    except ValueError:
        raise MatchError(
            f'--sprt {text}: expected two numbers, elo0 below elo1, such as "--sprt 0,20"'
        ) from None
    except EngineError as error:
        raise MatchError(f"--sprt {text}: {error}") from None


def _title(players: Sequence[ResolvedPlayer]) -> str:
    return " vs ".join(player.label for player in players)


@contextmanager
def _saying_how_to_go_on(
    players: Sequence[ResolvedPlayer], data: Path | None
) -> Iterator[Callable[[Match], None]]:
    """Gives what says it when the match begins. Ctrl-C before there is anything to report says
    it once more.
    """
    commands: list[str] = []

    def begins(begun: Match) -> None:
        commands.append(f"{resume_command(begun.id, players)}{data_text(data)}")
        say(f"match {begun.id}: {begun.games} games; should it be cut off: {commands[0]}")

    try:
        yield begins
    except KeyboardInterrupt:
        say(
            "".join(
                [
                    "stopped before a pair of games was whole",
                    *(f"; go on with: {command}" for command in commands),
                ]
            )
        )
        raise


def _exit(result: MatchResult, assertions: Sequence[Assertion]) -> None:
    if result.interim:
        raise typer.Exit(INTERRUPTED)
    if result.spoiled:
        say_spoiled(len(result.errors), f"{len(result.records)} games")
        raise typer.Exit(SPOILED)
    judged = [holds(assertion, result.duel, result.test) for assertion in assertions]
    if False in judged:
        raise typer.Exit(FAILED)
    if None in judged:
        raise typer.Exit(UNDECIDED)
