"""`arena compare`: which of two configurations trains the stronger players, over seeds."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.app import INTERRUPTED
from arena.cli.compare_metrics import (
    MetricOption,
    TargetOption,
    TimeLimitOption,
    read_metric,
    tell_metric,
)
from arena.cli.compare_words import (
    EXIT_CODES,
    WIDTH,
    comparison_json,
    head_lines,
    looks_lines,
    seeds_text,
    verdict_text,
)
from arena.cli.match_options import exit_spoiled, progress_bar
from arena.cli.output import DataOption, JsonOption, assignments, print_json, say
from arena.data.paths import check_population_name, data_dir
from arena.matches.compare import SIDES, Comparison, Contestant, Interrupted
from arena.matches.compare_finals import ComparisonResult, play_finals
from arena.matches.compare_metrics import AskedMetric, MetricResult, check_metric, measure
from arena.matches.compare_trainings import train_runs
from arena.matches.earlier_plans import as_begun
from arena.matches.game_list import is_spoiled
from arena.matches.lengths import MATCH_GAMES, MOST_GAMES, MOST_SEEDS
from arena.python.configs import load_named
from arena.stats.score import elo_of_score
from arena.words import number_of
from pbt.config.values import LARGEST
from pbt.objective import OBJECTIVE_WORDS, ObjectiveKind

DECIDED_BY: Mapping[ObjectiveKind, str] = {
    "win": "by games won",
    "margin": "by margins: what A wins of B a game",
    "return": "by returns: how much more A gets than B a game",
}

Overrides = Annotated[
    list[str] | None, assignments("--set", "Override a value of both configs; may be repeated.")
]
OverridesOfA = Annotated[list[str] | None, assignments("--set-a", "Override a value of A only.")]
OverridesOfB = Annotated[list[str] | None, assignments("--set-b", "Override a value of B only.")]


ConfigA = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="A config file (.toml) or the name of a shipped one.",
        show_default=False,
    ),
]
ConfigB = Annotated[
    str,
    typer.Argument(
        metavar="B",
        help="Another config; or the same one, with other values by --set-b.",
        show_default=False,
    ),
]
FramesOption = Annotated[
    int,
    typer.Option(
        min=1,
        max=LARGEST,
        help="Frames that each member trains: stop_at_frames of both configs.",
        show_default=False,
    ),
]
SeedsOption = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_SEEDS,
        help=(
            "Trainings of each config. Decide on a number in advance; when it is raised "
            "later, the command goes on from what is there."
        ),
    ),
]
GamesOption = Annotated[
    int,
    typer.Option(
        min=2, max=MOST_GAMES, help="Games between each training of A and each of B, at least."
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        help=(
            "Name of the comparison; its populations are NAME-a1, NAME-b1, ... Default: "
            "from the names of the configs."
        ),
        show_default=False,
    ),
]


def command(
    a: ConfigA,
    b: ConfigB,
    frames: FramesOption,
    seeds: SeedsOption = 3,
    games: GamesOption = MATCH_GAMES,
    name: NameOption = None,
    metric: MetricOption = None,
    time_limit: TimeLimitOption = None,
    target: TargetOption = None,
    overrides: Overrides = None,
    overrides_a: OverridesOfA = None,
    overrides_b: OverridesOfB = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train A and B with each seed, and play all trained players of A against all of B.

    One training runs after the other. The score, or lead in margins or returns, is A's. With
    --metric the evaluation games of the trainings decide, and no others are played.

    Exit codes: 0 A is better; 5 A is worse; 6 undecided; 2 wrong input; 4 more than one game and
    more than 1 % of the games raised an error; 130 Ctrl-C, which keeps everything: the same command
    goes on.
    """
    asked, shared = read_metric(metric, time_limit, target), overrides or []
    contestants = {
        side: _contestant(side.upper(), source, [*shared, *(own or ()), f"stop_at_frames={frames}"])
        for side, source, own in zip(SIDES, (a, b), (overrides_a, overrides_b), strict=True)
    }
    chosen = check_population_name(name) if name is not None else _name(a, b)
    comparison = as_begun(Comparison(chosen, contestants, seeds, frames, games, data_dir(data)))
    if asked is not None:
        check_metric(comparison, asked)
    outcome = _result(comparison, asked)
    if isinstance(outcome, MetricResult):
        tell_metric(outcome, as_json)
    else:
        _tell(outcome, as_json)


def _result(comparison: Comparison, asked: AskedMetric | None) -> ComparisonResult | MetricResult:
    """Train what is not trained yet, and compare it; an interruption exits with its code."""
    try:
        train_runs(comparison, say)
        if asked is not None:
            return measure(comparison, asked)
        with progress_bar("finals") as on_progress:
            return play_finals(comparison, say, on_progress)
    except Interrupted:
        say("stopped; everything is kept, and the same command goes on")
        raise typer.Exit(INTERRUPTED) from None


def _tell(outcome: ComparisonResult, as_json: bool) -> None:
    """Print the result, and exit with its code."""
    if as_json:
        print_json(outcome_json(outcome))
    else:
        print("\n".join(outcome_lines(outcome)))
    planned = outcome.games * len(outcome.values) ** 2
    if is_spoiled(outcome.errors, planned):
        exit_spoiled(outcome.errors, number_of(planned, "game"))
    raise typer.Exit(EXIT_CODES[outcome.total.verdict])


def _contestant(label: str, source: str, overrides: list[str]) -> Contestant:
    config, _ = load_named(source, "any", overrides)
    return Contestant(
        label,
        source,
        config,
        (source, *(word for override in overrides for word in ("--set", override))),
    )


def _name(a: str, b: str) -> str:
    """A name from those of the files, short enough for what is appended to it."""
    first, second = (
        re.sub(r"[^a-z0-9_-]+", "-", Path(source).stem.lower()).strip("-_") or "config"
        for source in (a, b)
    )
    return check_population_name(
        (first if first == second else f"{first[:24]}-vs-{second[:24]}")[:52]
    )


def outcome_lines(outcome: ComparisonResult) -> list[str]:
    """The report for people; the verdict is the last line."""
    comparison = outcome.comparison
    size = f"{seeds_text(comparison)}, {number_of(outcome.games, 'game')} for each pair of runs"
    return [
        *head_lines(comparison, size),
        f"Decided  {DECIDED_BY[outcome.objective]}",
        *_run_lines(outcome),
        *_total_lines(outcome),
        *looks_lines(outcome.looks),
        f"Verdict  {verdict_text(outcome.total.verdict, len(outcome.values))}",
    ]


def _run_lines(outcome: ComparisonResult) -> list[str]:
    """The score or lead of each run of A against each run of B."""
    seeds, wins = len(outcome.values), outcome.objective == "win"
    of = "score of each run of A, %" if wins else "lead of each run of A a game"
    names = "".join(f"b{run + 1}".rjust(WIDTH) for run in range(seeds))
    lines = [f"Runs          {names}{'mean':>{WIDTH}}   ({of})"]
    for run, row in enumerate(outcome.values):
        means = (*row, sum(row) / seeds)
        cells = [f"{100 * mean:.1f}" if wins else f"{mean:+.4g}" for mean in means]
        lines.append(f"{f'a{run + 1}':>14}{''.join(cell.rjust(WIDTH) for cell in cells)}")
    return lines


def _total_lines(outcome: ComparisonResult) -> list[str]:
    """The score or lead over all seeds, with its interval."""
    total = outcome.total
    if outcome.objective != "win":
        unit = OBJECTIVE_WORDS[outcome.objective].unit
        return [f"Lead     {total.mean:+.4g} {unit} for A" + _interval(outcome)]
    lines = [f"Score    {100 * total.mean:.1f} % for A" + _interval(outcome)]
    if total.low is not None and total.high is not None:
        lines.append(f"Elo      {_elo(total.mean)} [{_elo(total.low)}, {_elo(total.high)}]")
    return lines


def _interval(outcome: ComparisonResult) -> str:
    total = outcome.total
    if total.low is None or total.high is None:
        if len(outcome.values) > 1:
            return "; all games gave the same, which does not show how much others would differ"
        return "; one seed does not show how much another one would differ"
    ends = (
        f"[{100 * total.low:.1f}, {100 * total.high:.1f}]"
        if outcome.objective == "win"
        else f"[{total.low:+.4g}, {total.high:+.4g}]"
    )
    return f" {ends}   95 % over seeds, Student's t with {total.freedom:.1f} degrees of freedom"


def outcome_json(outcome: ComparisonResult) -> dict[str, Any]:
    """The result for `--json`, from A's side.

    Where games won decide, `score` and `scores` are fractions of 1, and `lead` and `leads` are
    null; where margins or returns do, it is the reverse, and `elo` is null. low and high are the
    ends of what decides. [i][j] is training i of A against training j of B. Values that need more
    than one seed are null for one seed.
    """
    comparison, total, wins = outcome.comparison, outcome.total, outcome.objective == "win"
    return {
        **comparison_json(comparison, len(outcome.values), outcome.looks),
        "verdict": total.verdict,
        "objective": outcome.objective,
        "score": total.mean if wins else None,
        "lead": None if wins else total.mean,
        "low": total.low,
        "high": total.high,
        "elo": elo_of_score(total.mean) if wins else None,
        "freedom": total.freedom,
        "spread_a": total.spread_a,
        "spread_b": total.spread_b,
        "scores": outcome.values if wins else None,
        "leads": None if wins else outcome.values,
        "games_per_pair": outcome.games,
        "errors": outcome.errors,
    }


def _elo(score: float) -> str:
    elo = elo_of_score(score)
    return f"{elo:+.0f}" if elo is not None else "beyond measure"
