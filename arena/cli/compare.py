"""`arena compare`: which of two configurations trains the stronger players, over seeds."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.app import INTERRUPTED
from arena.cli.match_options import SPOILED, progress_bar, say_spoiled
from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.cli.train import load_named
from arena.data.paths import check_population_name, data_dir
from arena.matches.compare import SIDES, Comparison, Contestant, Interrupted
from arena.matches.compare_finals import ComparisonResult, play_finals
from arena.matches.compare_trainings import train_runs
from arena.matches.game_list import is_spoiled
from arena.matches.play import DEFAULT_GAMES
from arena.stats.score import elo_of_score
from arena.stats.seed_scores import SeedScore

# Of A; better is 0. As `arena match --assert` has them.
WORSE, UNDECIDED = 5, 6
EXIT_CODES = {"better": 0, "worse": WORSE, "undecided": UNDECIDED}

Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=("Override a value of both configs; may be given often."),
        show_default=False,
    ),
]
OverridesOfA = Annotated[
    list[str] | None,
    typer.Option("--set-a", metavar="KEY=VALUE", help="Only of A.", show_default=False),
]
OverridesOfB = Annotated[
    list[str] | None,
    typer.Option("--set-b", metavar="KEY=VALUE", help="Only of B.", show_default=False),
]


def command(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A config file (.toml) or the name of a shipped one.",
            show_default=False,
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B", help="Another; or the same with other values: --set-b.", show_default=False
        ),
    ],
    frames: Annotated[
        int,
        typer.Option(
            min=1,
            help="Each member's own clock at the end: stop_at_frames of both.",
            show_default=False,
        ),
    ],
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            max=1000,
            help="Trainings of each, best decided before; may be raised, the command goes on.",
        ),
    ] = 3,
    games: Annotated[
        int, typer.Option(min=2, help="At least so many between each training of A and each of B.")
    ] = DEFAULT_GAMES,
    name: Annotated[
        str | None,
        typer.Option(
            help=(
                "Of the comparison; its populations are NAME-a1, NAME-b1, ... Else from the "
                "configs."
            ),
            show_default=False,
        ),
    ] = None,
    overrides: Overrides = None,
    overrides_a: OverridesOfA = None,
    overrides_b: OverridesOfB = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train A and B with each seed, one training after the other, and play all finals of A against
    all of B; the score is A's.

    Exit codes: 0 when A is better, 5 when it is worse, 6 while that is undecided; 2 for what was
    typed; 4 when more than one game and more than 1 % of them raised; 130 after Ctrl-C, which keeps
    everything: the same command goes on.
    """
    shared = overrides or []
    contestants = {
        side: _contestant(side.upper(), source, [*shared, *(own or ()), f"stop_at_frames={frames}"])
        for side, source, own in zip(SIDES, (a, b), (overrides_a, overrides_b), strict=True)
    }
    chosen = check_population_name(name) if name is not None else _name(a, b)
    comparison = Comparison(chosen, contestants, seeds, frames, games, data_dir(data))
    try:
        train_runs(comparison, say)
        with progress_bar("finals") as on_progress:
            outcome = play_finals(comparison, say, on_progress)
    except Interrupted:
        say("stopped; everything is kept, and the same command goes on")
        raise typer.Exit(INTERRUPTED) from None
    _tell(outcome, as_json=as_json)
    planned = outcome.games * len(outcome.scores) ** 2
    if is_spoiled(outcome.errors, planned):
        say_spoiled(outcome.errors, f"{planned} games")
        raise typer.Exit(SPOILED)
    raise typer.Exit(EXIT_CODES[outcome.total.verdict])


def _tell(outcome: ComparisonResult, *, as_json: bool) -> None:
    if as_json:
        print_json(outcome_json(outcome))
    else:
        print("\n".join(outcome_lines(outcome)))


def _contestant(label: str, source: str, overrides: list[str]) -> Contestant:
    config, _ = load_named(source, "any", overrides)
    return Contestant(
        label,
        source,
        config,
        (source, *(word for override in overrides for word in ("--set", override))),
    )


def _name(a: str, b: str) -> str:
    """From the names of the files; short enough for what is appended."""
    first, second = (
        re.sub(r"[^a-z0-9_-]+", "-", Path(source).stem.lower()).strip("-_") or "config"
        for source in (a, b)
    )
    return check_population_name(
        (first if first == second else f"{first[:24]}-vs-{second[:24]}")[:52]
    )


def outcome_lines(outcome: ComparisonResult) -> list[str]:
    """The report for people; what it comes to stands last."""
    comparison, total, seeds = outcome.comparison, outcome.total, len(outcome.scores)
    env = comparison.contestants["a"].config.env.name
    size = (
        f"{seeds} seed{'s' * (seeds != 1)} each, {comparison.frames} frames per member, "
        f"{outcome.games} games for each pair of runs"
    )
    lines = [
        f"{comparison.name}   {env}, {size}",
        *(
            f"{contestant.label:<9}{contestant.source}"
            for contestant in comparison.contestants.values()
        ),
        *(
            f"Differs  {key}: A {left}, B {right}"
            for key, (left, right) in comparison.differences().items()
        ),
        (
            f"Runs          {''.join(f'b{run + 1}'.rjust(7) for run in range(seeds))}   mean   "
            "(score of each run of A, %)"
        ),
    ]
    for run, row in enumerate(outcome.scores):
        cells = "".join(f"{100 * score:7.1f}" for score in (*row, sum(row) / seeds))
        lines.append(f"{f'a{run + 1}':>14}{cells}")
    lines.append(f"Score    {100 * total.score:.1f} % for A" + _interval(total))
    if total.low is not None and total.high is not None:
        lines.append(f"Elo      {_elo(total.score)} [{_elo(total.low)}, {_elo(total.high)}]")
    if len(outcome.looks) > 1:
        lines.append(
            f"Looks    {len(outcome.looks)}, {looks_text(outcome.looks)}; who stops at the "
            "first verdict errs more often than in 5 % of cases"
        )
    return [*lines, f"Verdict  {verdict(outcome)}"]


def looks_text(looks: Sequence[int]) -> str:
    return f"after {', '.join(map(str, looks[:-1]))} and {looks[-1]} seeds"


def _interval(total: SeedScore) -> str:
    if total.low is None or total.high is None:
        return "; of one seed nobody knows how much the next would differ"
    return (
        f" [{100 * total.low:.1f}, {100 * total.high:.1f}]   95 % over seeds, Student's t "
        f"with {total.freedom:.1f} degrees of freedom"
    )


def verdict(outcome: ComparisonResult) -> str:
    """One sentence."""
    seeds = len(outcome.scores)
    match outcome.total.verdict:
        case "better":
            return f"A is better (95 %, {seeds} seeds)"
        case "worse":
            return f"A is worse (95 %, {seeds} seeds)"
        case _:
            return (
                f"undecided (95 %); with --seeds {max(2, 2 * seeds)} the same command "
                "goes on: a narrower interval, and one more look"
            )


def outcome_json(outcome: ComparisonResult) -> dict[str, Any]:
    """Fractions are of 1, from A's side; scores[i][j] is training i of A against training j of
    B; what one seed cannot tell is null.
    """
    comparison, total = outcome.comparison, outcome.total
    return {
        "comparison": comparison.name,
        "verdict": total.verdict,
        "score": total.score,
        "low": total.low,
        "high": total.high,
        "elo": elo_of_score(total.score),
        "freedom": total.freedom,
        "spread_a": total.spread_a,
        "spread_b": total.spread_b,
        "scores": outcome.scores,
        "seeds": len(outcome.scores),
        "looks": outcome.looks,
        "frames": comparison.frames,
        "games_per_pair": outcome.games,
        "errors": outcome.errors,
        "env": comparison.contestants["a"].config.env.name,
        "differences": {key: list(values) for key, values in comparison.differences().items()},
        "populations": {
            side: [comparison.population(side, seed + 1) for seed in range(len(outcome.scores))]
            for side in SIDES
        },
    }


def _elo(score: float) -> str:
    elo = elo_of_score(score)
    return f"{elo:+.0f}" if elo is not None else "beyond measure"
