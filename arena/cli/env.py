"""`arena env`: the list of games, a check of one, and a game that went wrong played again."""

import traceback
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.going_on import GoingOn
from arena.cli.output import JsonOption, assignments, print_json, print_table, say
from arena.matches.lengths import MOST_GAMES
from arena.words import number_of
from pbt.envs.contract import EnvSpec
from pbt.envs.names import is_file_name, is_id
from pbt.envs.registry import names, spec
from pbt.envs.testing.check import CheckReport, check_game
from pbt.errors import EnvError

app = typer.Typer(
    no_args_is_help=True, help="List the games, or check whether one keeps the contract."
)


@app.command("list")
def list_games(as_json: JsonOption = False) -> None:
    """List the registered games, including those of installed packages."""
    games: list[EnvSpec] = []
    for name in names():
        try:
            games.append(spec(name))
        except EnvError as error:
            say(f"warning: {error}")
    if as_json:
        print_json(
            [
                {
                    "name": game.name,
                    "description": game.description,
                    "chance": game.chance,
                    "objective": game.objective,
                    "opponents": opponents(game),
                }
                for game in games
            ]
        )
    else:
        rows = [
            (
                game.name,
                "yes" if game.chance else "no",
                game.objective or "-",
                ", ".join(opponents(game)),
                game.description,
            )
            for game in games
        ]
        print_table(("name", "chance", "objective", "opponents", "what"), rows)
        say(
            "Games of OpenSpiel, Atari and MinAtar, where they are installed: arena env check "
            "openspiel:NAME, atari:NAME, minatar:NAME. A game of your own: arena env check "
            "./my_game.py:function"
        )


@app.command("check")
def check(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|./FILE.py:FUNCTION",
            help="A registered game, or a function of your own that returns one.",
        ),
    ],
    seeds: Annotated[
        int,
        typer.Option(min=1, max=MOST_GAMES, help="Games to play; each of them is also replayed."),
    ] = 20,
    options: Annotated[
        list[str] | None,
        assignments(
            "--set", "An option of the game, as in a config's env.options; may be repeated."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play a game, replay it, and check it against the contract; exit 1 if it breaks a rule."""
    from pbt.config.load import options_from

    chosen = options_from(options or ())
    # The check itself measures what others' games do not say.
    measured = (True, True) if is_file_name(name) or is_id(name) else None
    game = spec(name, allow_files=True, measured=measured, options=chosen)
    # Whether content of the user's own can be replayed is found here, and no promise of the game's.
    promised = game.replayable and not game.paths(chosen)
    made, doing = replace(game, make=partial(game.make, **chosen), replayable=promised), ["a table"]
    with GoingOn(lambda: f"checking {name}: {doing[-1]}"):
        report = check_game(made, seeds, told=doing.append)
    if as_json:
        print_json({"ok": report.ok, **asdict(report)})
    else:
        print("\n".join(report_lines(report)))
    if not report.ok:
        raise typer.Exit(1)


@app.command("replay")
def replay(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A game that went wrong: populations/NAME/logs/game-error-SEED.json.",
        ),
    ],
    env: Annotated[
        str | None,
        typer.Option(
            metavar="./FILE.py:FUNCTION", help="The game where it lies here.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play a game that went wrong again, from its seed and actions.

    The exit code is 1 if it goes wrong again.
    """
    from pbt.envs.testing.reproduction import play_again, read_reproduction

    kept = read_reproduction(file)
    name = env or kept.env
    game = spec(name, allow_files=True, measured=(True, True)).make(**kept.options)
    try:
        replayed = play_again(game, kept)
    finally:
        game.close()
    if replayed.error is not None:
        say("".join(traceback.format_exception(replayed.error)).rstrip())
    _print_replayed(name, kept, replayed, as_json)
    if replayed.end == "error":
        raise typer.Exit(1)


# No types of their own: the module of these would be loaded for every other command.
def _print_replayed(name: str, kept: Any, replayed: Any, as_json: bool) -> None:
    actions, steps, problem = len(kept.actions), number_of(replayed.steps, "step"), replayed.problem
    if as_json:
        seen = {"steps": replayed.steps, "end": replayed.end, "problem": problem or None}
        known = {"env": name, "seed": kept.seed, "actions": actions}
        print_json({**known, **seen, "in_the_training": kept.error})
        return
    now = {
        "error": problem,
        "over": f"it came to its end after {steps}, and nothing went wrong",
        "open": f"all actions were played in {steps}, and nothing went wrong",
        "other": f"another game after {steps}: {problem}; it cannot be replayed",
    }[replayed.end]
    print(f"{name}, seed {kept.seed}, {number_of(actions, 'action')}")
    print(f"then: {kept.error}\nnow:  {now}")


def opponents(game: EnvSpec) -> list[str]:
    """The scripted players that can play this game."""
    return sorted({"random", *game.scripted})


def report_lines(report: CheckReport) -> list[str]:
    """The report for people. Problems come last, so that they stand just above the prompt."""
    per_seat = [
        f"{seat} {count}" for seat, count in zip(report.seats, report.first_places, strict=True)
    ]
    ends = [*per_seat, f"shared {report.draws}", f"cut off {report.truncated}"]
    facts = (
        ("seats", ", ".join(report.seats)),
        ("roles", ", ".join(report.roles)),
        ("reward terms", ", ".join(report.reward_terms)),
        ("games played", f"{report.games}, {report.mean_decisions:.1f} decisions each"),
        ("first places", ", ".join(ends) + " (random actions)" if len(report.seats) > 1 else ""),
        (
            "replayable",
            _measured(
                report.replayable,
                "yes: seed and actions give the same game",
                "no: games that are cut short by a crash are voided",
            ),
        ),
        (
            "chance",
            _measured(report.seed_matters, "yes: the seed matters", "no: only actions decide"),
        ),
        ("winners", report.winners),
        ("objective", _objective(report)),
        ("speed", _speed(report)),
    )
    lines = [
        report.name,
        *(f"  {fact:<13} {value}" for fact, value in facts if value),
        *(f"warning: {warning}" for warning in report.warnings),
    ]
    if report.ok:
        return [*lines, "keeps the contract"]
    return [
        *lines,
        f"breaks the contract in {len(report.problems)} place{'s' * (len(report.problems) > 1)}:",
        *(f"  {p}" for p in report.problems),
    ]


def _speed(report: CheckReport) -> str:
    if not report.games:
        return ""
    return f"{report.steps_per_s:,.0f} steps/s on one core, without a network"


def _objective(report: CheckReport) -> str:
    """The objective that the game declares, or the line of a config that the returns propose."""
    found = report.objective
    if found is None:
        return ""
    if found.declared is not None and len(report.seats) > 1:
        return f"{found.declared}, as the game declares; {found.measured}"
    if found.proposed is None:
        return f"not declared; {found.measured}"
    if len(report.seats) == 1:
        return f"{found.proposed}; {found.measured}"
    return f'not declared; {found.measured}: [env] objective = "{found.proposed}"'


def _measured(answer: bool | None, yes: str, no: str) -> str:
    return "not measured, because games failed" if answer is None else yes if answer else no
