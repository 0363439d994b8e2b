"""`arena evaluate`: the returns of players, each measured by itself."""

from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import Annotated, Any

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
from arena.cli.output import DataOption, JsonOption, print_json
from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S
from arena.matches.lengths import EPISODES, MOST_GAMES
from arena.matches.report import player_json
from arena.matches.returns import Returns
from arena.players.resolve import ResolvedPlayer, options_text
from arena.python.evaluations import evaluate_one
from arena.python.players import NamedPlayers
from arena.stats.intervals import mean_interval
from arena.words import number_of

PlayerArgument = Annotated[str, typer.Argument(metavar="PLAYER", help=NAMES, show_default=False)]
OthersArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[OTHER]...",
        help="Players to compare it with, such as `random`.",
        show_default=False,
    ),
]
EpisodesOption = Annotated[int, typer.Option(min=1, max=MOST_GAMES, help="Episodes to play.")]


def evaluate(
    player: PlayerArgument,
    others: OthersArgument = None,
    episodes: EpisodesOption = EPISODES,
    seed: SeedOption = 1,
    greedy: GreedyOption = False,
    move_timeout_s: MoveTimeoutOption = DEFAULT_MOVE_TIMEOUT_S,
    env: EnvOption = None,
    options: OptionsOption = None,
    objective: ObjectiveOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the returns of a player over episodes, and of other players over the same episodes.

    In games of several seats `random` plays the other seats. Where the first player plays one role,
    the others play that one. Nothing is stored in the league.
    """
    names = [player, *(others or ())]
    named = players_named(names, data, env, options, move_timeout_s, objective)
    results: list[Returns] = []
    for resolved in named.players:
        results.append(_evaluated(named, resolved, episodes, seed, greedy=greedy))
        if not as_json:
            print(
                "\n".join(evaluation_lines(results[-1], results[0] if len(results) > 1 else None)),
                flush=True,
            )
        if results[-1].interim:
            break
    if as_json:
        print_json(evaluations_json(results))
    _exit(next((result for result in results if result.interim or result.spoiled), results[0]))


def _evaluated(
    named: NamedPlayers, player: ResolvedPlayer, episodes: int, seed: int, *, greedy: bool
) -> Returns:
    """The returns of a player, in the role and by the objective of the first."""
    with progress_bar(player.label) as on_progress:
        return evaluate_one(
            named, player, episodes=episodes, seed=seed, greedy=greedy, on_progress=on_progress
        ).returns


def evaluation_lines(result: Returns, first: Returns | None = None) -> list[str]:
    """The report for people. first: the result that this one is compared with."""
    several = "together" if result.together else "in turn"
    seats = f"{', '.join(result.seats)} {several}" if len(result.seats) > 1 else result.seats[0]
    others = ""
    if result.others:
        left = "other seat" if result.others == 1 else f"{result.others} other seats"
        others = f"; `random` in the {left}"
    actions = ", greedy actions" if result.greedy else ""
    lines = [
        (
            f"{result.player.label}   {result.player.env_name}, "
            f"{number_of(len(result.returns), 'episode')}{actions}, seed {result.seed}"
        ),
        *(
            [f"Options  {options_text(result.player.env_options)}"]
            if result.player.env_options and first is None
            else ()
        ),
        f"Return   {_spread(result.returns)}",
        *([f"Points   {_spread(result.points)}"] if result.points is not None else ()),
        f"Length   {fmean(result.steps):.1f} ± {pstdev(result.steps):.1f} decisions",
        f"Seats    {seats}{others}",
    ]
    if first is not None and (lead := first.lead_over(result)) is not None:
        lines.append(
            f"Lead     {lead[0]:+.4g} [{lead[1]:+.4g}, {lead[2]:+.4g}]   of "
            f"{first.player.label}, by the returns of equal seeds"
        )
    if result.errors:
        lines.append(
            f"Note     the game raised an error {number_of(len(result.errors), 'time')}, and what "
            f"it broke off was played again; the first error: {result.errors[0]}"
        )
    if result.interim:
        lines.append(f"Interim  {len(result.returns)} of {number_of(result.planned, 'episode')}")
    return lines


def _spread(values: Sequence[float]) -> str:
    interval = mean_interval(values)
    bounds = f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval else ""
    return f"{fmean(values):.4g}{bounds}   from {min(values):.4g} to {max(values):.4g}"


def evaluations_json(results: Sequence[Returns]) -> dict[str, Any]:
    """The first player's numbers, and under "beside" those of the others.

    The first player's lead over each of them is [mean, low, high], or null.
    """
    beside = [
        {**evaluation_json(other), "lead": results[0].lead_over(other)} for other in results[1:]
    ]
    return {**evaluation_json(results[0]), "beside": beside}


def evaluation_json(result: Returns) -> dict[str, Any]:
    """One player's numbers.

    Lengths count decisions of all seats. low and high are null for a single episode, points where
    the game does not count any.
    """
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
        "seats_together": result.together,
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


def _exit(result: Returns) -> None:
    if result.interim:
        raise typer.Exit(INTERRUPTED)
    if result.spoiled:
        exit_spoiled(len(result.errors), number_of(result.planned, "episode"))
