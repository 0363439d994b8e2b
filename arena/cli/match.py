"""`arena match` and `arena evaluate`: how good is a player, against another or alone."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean, pstdev
from typing import Annotated, Any

import typer

from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.evaluation import DEFAULT_EPISODES, Evaluation, evaluate_player
from arena.league.database import open_league
from arena.match import DEFAULT_GAMES, MatchResult, play_match
from arena.match_plan import check_meeting
from arena.match_report import match_json, match_lines, player_json
from arena.paths import data_dir, league_path
from arena.players import options_text, resolve_players
from arena.schedule import Progress
from arena.statistics import mean_interval
from pbt.config.load import options_from

INTERRUPTED = 130
SPOILED = 4

NAMES = "random, oneply, demo/m2, demo/m2@1.2M, demo@best, or a snapshot id."
EnvOption = Annotated[str | None, typer.Option("--env", metavar="NAME", help="The game; needed where no player was trained.", show_default=False)]
SeedOption = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Everything random follows from it.")]
EvaluatedOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An option of the game that --env names, as in a config's env.options; may be given often. A trained player brings its own.",
        show_default=False,
    ),
]
GreedyOption = Annotated[bool, typer.Option("--greedy", help="Most likely actions instead of sampled ones.")]


def match(
    a: Annotated[str, typer.Argument(metavar="A", help=NAMES, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The opponent; may be A itself.", show_default=False)],
    games: Annotated[int, typer.Option(min=1, help="Games; they come in pairs with the seats swapped.")] = DEFAULT_GAMES,
    seed: SeedOption = 1,
    greedy: GreedyOption = False,
    env: EnvOption = None,
    record: Annotated[bool, typer.Option("--record/--no-record", help="Keep the games in the league.")] = True,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play A against B; the score is A's. Exit 4 when more than 1 % of the games raised, 130 after Ctrl-C."""
    spec, (first, second) = resolve_players([a, b], data, env, allow_files=True)
    check_meeting(spec, first, second)
    with progress_bar(f"{first.label} vs {second.label}") as on_progress:
        if record:
            with open_league(league_path(data_dir(data))) as league:
                result = play_match(first, second, games=games, seed=seed, greedy=greedy, league=league, on_progress=on_progress, env=spec)
        else:
            result = play_match(first, second, games=games, seed=seed, greedy=greedy, on_progress=on_progress, env=spec)
    if as_json:
        print_json(match_json(result))
    else:
        print("\n".join(match_lines(result)))
    _exit(result, "games")


def evaluate(
    player: Annotated[str, typer.Argument(metavar="PLAYER", help=NAMES, show_default=False)],
    others: Annotated[list[str] | None, typer.Argument(metavar="[OTHER]...", help="Shown beside it, such as `random`.", show_default=False)] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play.")] = DEFAULT_EPISODES,
    seed: SeedOption = 1,
    greedy: GreedyOption = False,
    env: EnvOption = None,
    options: EvaluatedOptions = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Returns of a player over episodes, and of others over the same. Where a game has more seats, `random` sits in the rest. Nothing is recorded."""
    spec, players = resolve_players([player, *(others or ())], data, env, options=options_from(options or ()), allow_files=True)
    results: list[Evaluation] = []
    for found in players:
        with progress_bar(found.label) as on_progress:
            results.append(evaluate_player(found, spec, episodes=episodes, seed=seed, greedy=greedy, on_progress=on_progress))
        if not as_json:
            print("\n".join(evaluation_lines(results[-1], results[0] if len(results) > 1 else None)), flush=True)
        if results[-1].interim:
            break
    if as_json:
        print_json(evaluations_json(results))
    _exit(next((result for result in results if result.interim or result.spoiled), results[0]), "episodes")


def evaluation_lines(result: Evaluation, first: Evaluation | None = None) -> list[str]:
    """The report for people. first: the one that it stands below, and is compared with."""
    seats = f"{', '.join(result.seats)} in turn" if len(result.seats) > 1 else result.seats[0]
    others = f"; `random` in the {'other seat' if result.others == 1 else f'{result.others} other seats'}" if result.others else ""
    actions = ", greedy actions" if result.greedy else ""
    lines = [
        f"{result.player.label}   {result.player.env_name}, {len(result.returns)} episodes{actions}, seed {result.seed}",
        *([f"Options  {options_text(result.player.env_options)}"] if result.player.env_options and first is None else ()),
        f"Return   {_spread(result.returns)}",
        *([f"Points   {_spread(result.points)}"] if result.points is not None else ()),
        f"Length   {fmean(result.steps):.1f} ± {pstdev(result.steps):.1f} decisions",
        f"Seats    {seats}{others}",
    ]
    if first is not None and (lead := first.lead_over(result)) is not None:
        lines.append(f"Lead     {lead[0]:+.4g} [{lead[1]:+.4g}, {lead[2]:+.4g}]   of {first.player.label}, by the returns of equal seeds")
    if result.errors:
        lines.append(f"Note     the game raised {len(result.errors)} times, those episodes were played again; first: {result.errors[0]}")
    return [*lines, f"Interim  {len(result.returns)} of {result.planned} episodes"] if result.interim else lines


def _spread(values: Sequence[float]) -> str:
    interval = mean_interval(values)
    bounds = f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval else ""
    return f"{fmean(values):.4g}{bounds}   from {min(values):.4g} to {max(values):.4g}"


def evaluations_json(results: Sequence[Evaluation]) -> dict[str, Any]:
    """The first player's numbers; those of others under "beside", each with the first one's lead over it, [mean, low, high] or null."""
    beside = [{**evaluation_json(other), "lead": results[0].lead_over(other)} for other in results[1:]]
    return {**evaluation_json(results[0]), "beside": beside}


def evaluation_json(result: Evaluation) -> dict[str, Any]:
    """Lengths are decisions of all seats; low and high are null for a single episode, points where the game keeps no count."""
    low, high = result.return_interval or (None, None)
    return {
        "mean_return": result.mean_return,
        "low": low,
        "high": high,
        "min_return": min(result.returns),
        "max_return": max(result.returns),
        "points": None if result.points is None else _points_json(result.points),
        "episodes": len(result.returns),
        "planned": result.planned,
        "mean_length": fmean(result.steps),
        "length_deviation": pstdev(result.steps),
        "seats": result.seats,
        "random_opponents": result.others,
        "errors": len(result.errors),
        "player": player_json(result.player),
        "env": result.player.env_name,
        "env_options": result.player.env_options,
        "seed": result.seed,
        "greedy": result.greedy,
        "interim": result.interim,
    }


def _points_json(points: Sequence[float]) -> dict[str, float | None]:
    low, high = mean_interval(points) or (None, None)
    return {"mean": fmean(points), "low": low, "high": high, "min": min(points), "max": max(points)}


def _exit(result: MatchResult | Evaluation, what: str) -> None:
    if result.interim:
        raise typer.Exit(INTERRUPTED)
    if result.spoiled:
        say(f"error: the game raised in {len(result.errors)} tries of {result.planned} {what}, more than 1 %: do not trust the numbers, fix the game")
        raise typer.Exit(SPOILED)


@contextmanager
def progress_bar(title: str) -> Iterator[Progress | None]:
    """A bar on stderr, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(title), total=None)
        yield lambda done, planned: bar.update(task, completed=done, total=planned)
