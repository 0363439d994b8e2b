"""`arena match`: how strong a player is against others, measured in games."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from arena.cli.app import INTERRUPTED
from arena.cli.match_options import (
    NAMES,
    EnvOption,
    GreedyOption,
    MoveTimeoutOption,
    ObjectiveOption,
    OptionsOption,
    SeedOption,
    exit_spoiled,
    players_named,
    progress_bar,
)
from arena.cli.match_resume import (
    refuse_planned_options,
    resume_from_league,
    telling_how_to_resume,
    title_of,
)
from arena.cli.match_text import match_lines
from arena.cli.output import DataOption, JsonOption, print_json
from arena.data.paths import data_dir, league_path
from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S
from arena.league.database import upgrade_league
from arena.league.matches import MatchError
from arena.machine import usable_cores
from arena.matches.assertions import Assertion, holds, read_assertions
from arena.matches.lengths import MATCH_GAMES, MOST_GAMES, MOST_PROCESSES, SPRT_GAMES
from arena.matches.match_result import PlayedMatch
from arena.matches.report import match_json
from arena.python.matches import Playing, checked, play
from arena.python.players import NamedPlayers
from arena.stats.sprt import Sprt
from arena.words import number_of
from pbt.errors import EngineError

FAILED, UNDECIDED = 5, 6

GamesOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_GAMES,
        help=(
            "Games to play, in pairs with the seats swapped (at larger tables in blocks). Default: "
            f"{MATCH_GAMES}; with --sprt at most {SPRT_GAMES}."
        ),
        show_default=False,
    ),
]
SprtOption = Annotated[
    str | None,
    typer.Option(
        "--sprt",
        metavar="ELO0,ELO1",
        help=(
            "Run a sequential test: stop as soon as the games decide between the two "
            "differences in normalised Elo. Each error has a probability of 5 %."
        ),
        show_default=False,
    ),
]
AssertOption = Annotated[
    list[str] | None,
    typer.Option(
        "--assert",
        metavar="TEXT",
        help=(
            'Exit with 5 unless this holds, such as "score>0.55" (of score, low, high, los, elo); '
            'or "sprt": exit with 5 when H0 is accepted, with 6 while the test is undecided. May '
            "be repeated."
        ),
        show_default=False,
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_PROCESSES,
        help=(
            "Processes that play. Default: one per core. The games are the same with any number."
        ),
        show_default=False,
    ),
]
ResumeOption = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="MATCH",
        help='Go on with an unfinished match: the number printed at its start, or "last".',
        show_default=False,
    ),
]


PlayersArgument = Annotated[
    list[str] | None, typer.Argument(metavar="A B...", help=NAMES, show_default=False)
]
FreshOption = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Play games that count in no rating, so that they did not choose the player: what "
        "`arena league` then shows of @best does not flatter it.",
    ),
]
RecordOption = Annotated[
    bool, typer.Option("--record/--no-record", help="Store the games in the league.")
]


def match(
    ctx: typer.Context,
    players: PlayersArgument = None,
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
    objective: ObjectiveOption = None,
    record: RecordOption = True,
    fresh: FreshOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play A against B; the score is A's.

    With more names or more seats, places count: copies fill the seats that are left, and each
    player takes every seat that it can equally often.

    Exit codes: 0 success; 1 an error of the game, of weights or of the league; 2 wrong input; 3 a
    player that is a program cannot be used; 4 more than one game and more than 1 % of the games
    raised an error; 5 an --assert does not hold; 6 an asserted sequential test is undecided; 130
    Ctrl-C, which keeps complete pairs: `--resume` goes on.
    """
    names, processes = players or [], concurrency or usable_cores()
    if resume is not None:
        refuse_planned_options(ctx, resume)
        result, assertions = resume_from_league(
            resume, names, asserted or (), processes, move_timeout_s, data
        )
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
        named = checked(
            players_named(names, data, env, options, move_timeout_s, objective),
            tested=test is not None or bool(assertions),
        )
        plan = Playing(games=games, seed=seed, greedy=greedy, concurrency=processes, fresh=fresh)
        result = _play(named, data, test, plan, record=record)
    if as_json:
        print_json(match_json(result, assertions))
    else:
        print("\n".join(match_lines(result, assertions, data)))
    _exit(result, assertions)


def _play(
    named: NamedPlayers, data: Path | None, test: Sprt | None, plan: Playing, *, record: bool
) -> PlayedMatch:
    """Play a new match, with a progress bar and a line on how to resume it."""
    with (
        telling_how_to_resume(named.players, data) as plan["on_start"],
        progress_bar(title_of(named.players)) as plan["on_progress"],
    ):
        return play(named, data=data, sprt=test, record=record, **plan).played


def read_sprt(text: str) -> Sprt:
    """ "0,10" -> elo0 = 0 and elo1 = 10. Raises: MatchError."""
    try:
        elo0, elo1 = (float(part) for part in text.split(","))
        return Sprt(elo0, elo1)
    except ValueError:
        raise MatchError(
            f'--sprt {text}: expected two numbers, elo0 below elo1, such as "--sprt 0,20"'
        ) from None
    except EngineError as error:
        raise MatchError(f"--sprt {text}: {error}") from None


def _exit(result: PlayedMatch, assertions: Sequence[Assertion]) -> None:
    if result.interim:
        raise typer.Exit(INTERRUPTED)
    if result.spoiled:
        exit_spoiled(len(result.errors), number_of(len(result.records), "game"))
    judged = [holds(assertion, result.duel, result.test) for assertion in assertions]
    if False in judged:
        raise typer.Exit(FAILED)
    if None in judged:
        raise typer.Exit(UNDECIDED)
