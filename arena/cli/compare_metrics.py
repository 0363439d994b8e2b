"""`arena compare --metric`: evaluation games of the trainings decide, and no finals are played."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, cast, get_args

import typer

from arena.cli.compare_words import (
    EXIT_CODES,
    WIDTH,
    comparison_json,
    head_lines,
    looks_lines,
    seeds_text,
    verdict_text,
)
from arena.cli.output import print_json
from arena.matches.compare import SIDES, Side
from arena.matches.compare_metrics import AskedMetric, Metric, MetricResult, MetricRow
from arena.matches.plan_problems import PlanError, PlanProblem
from arena.stats.evaluation_curves import EACH, POLICIES, WINDOW
from arena.stats.paired_bootstrap import RESAMPLES, PairedEffect

METRICS: tuple[Metric, ...] = get_args(Metric)
_NEWEST = (
    f"mean return of {EACH} evaluation games by each of a member's newest {POLICIES} snapshots"
)
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="|".join(METRICS),
        help=(
            "In games of one seat: compare by the evaluation games of the trainings, instead of by "
            f'finals. "final": the {_NEWEST}. "final-time": the same when --time-limit was over. '
            f'"required-time": seconds until the last {WINDOW} evaluation games returned each '
            "--target."
        ),
        show_default=False,
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        min=1.0,
        max=31_536_000.0,
        metavar="SECONDS",
        help="Of --metric final-time: seconds of each training.",
        show_default=False,
    ),
]
TargetOption = Annotated[
    list[float] | None,
    typer.Option(
        metavar="RETURN",
        help="Of --metric required-time: a mean return; may be repeated.",
        show_default=False,
    ),
]


def read_metric(
    metric: str | None, time_limit_s: float | None, targets: Sequence[float] | None
) -> AskedMetric | None:
    """What the options ask for; None: finals decide. Raises: PlanError."""
    needs = {"final-time": "--time-limit", "required-time": "--target"}
    given = {"--time-limit": time_limit_s is not None, "--target": bool(targets)}
    problems = []
    if metric is not None and metric not in METRICS:
        problems.append(f"--metric {metric}: expected one of {', '.join(METRICS)}")
    for name, option in needs.items():
        if metric == name and not given[option]:
            problems.append(f"--metric {metric}: {option} is missing; give it")
        if metric != name and given[option]:
            problems.append(f"{option}: only --metric {name} has one; leave it away")
    if problems:
        raise PlanError("compare", [PlanProblem("", problem) for problem in problems])
    if metric is None:
        return None
    return AskedMetric(cast("Metric", metric), time_limit_s, tuple(dict.fromkeys(targets or ())))


def tell_metric(result: MetricResult, as_json: bool) -> None:
    """Print a result, and exit with the code of its verdict."""
    if as_json:
        print_json(metric_json(result))
    else:
        print("\n".join(metric_lines(result)))
    raise typer.Exit(EXIT_CODES[result.verdict])


# --- for people -----------------------------------------------------------------------------------


def metric_lines(result: MetricResult) -> list[str]:
    """The report for people; the verdict is the last line."""
    comparison, asked = result.comparison, result.asked
    names = "".join(f"seed {seed}".rjust(WIDTH) for seed in range(1, comparison.seeds + 1))
    what = {
        "final": f"final: {_NEWEST}",
        "final-time": f"final-time: {_NEWEST}, after {asked.time_limit_s or 0:g} s",
        "required-time": f"required-time: seconds until the mean return of the last {WINDOW} "
        "evaluation games reached a target",
    }[asked.metric]
    return [
        *head_lines(comparison, seeds_text(comparison)),
        f"Metric   {what}",
        f"Runs          {names}{'mean':>{WIDTH}}",
        *(line for row in result.rows for line in _row_lines(row)),
        *_trained_lines(result),
        *looks_lines(result.looks),
        f"Verdict  {verdict_text(result.verdict, comparison.seeds)}",
    ]


def _row_lines(row: MetricRow) -> list[str]:
    lines = [] if row.target is None else [f"Target   {row.target:g}"]
    for side in SIDES:
        values = row.values[side]
        known = [value for value in values if value is not None]
        mean = f"{fmean(known):.4g}" if len(known) == len(values) else "-"
        cells = ["-" if value is None else f"{value:.4g}" for value in values]
        line = f"{side.upper():>14}{''.join(cell.rjust(WIDTH) for cell in (*cells, mean))}"
        if missed := row.unreached(side):
            line += f"   not reached in {missed} of {len(values)} seeds"
        lines.append(line)
    return [*lines, _effect_line(row)]


def _effect_line(row: MetricRow) -> str:
    effect = row.effect
    if row.target is None:
        assert effect is not None, "returns are always known"
        return f"Lead     {effect.value:+.4g} for A{_interval(effect, '+.4g')}"
    if effect is None:
        return "Ratio    not known, since some runs did not reach the target"
    return f"Ratio    A is {effect.value:.3g} times as fast{_interval(effect, '.3g')}"


def _interval(effect: PairedEffect, form: str) -> str:
    if effect.low is None or effect.high is None:
        return "; one seed, or seeds that are all alike, do not show how much others would differ"
    ends = f"[{effect.low:{form}}, {effect.high:{form}}]"
    return f" {ends}   95 % over seeds, {RESAMPLES:,} bootstraps of pairs"


def _trained_lines(result: MetricResult) -> list[str]:
    """How long the trainings were, and on how many games the values rest."""
    counts, limit_s = result.rows[0].games, result.asked.time_limit_s or 0.0
    lines = [
        f"Trained  {_by_side(result.ended)} s",
        f"Games    {_by_side(counts)} evaluation games",
    ]
    trainings = 2 * result.comparison.seeds
    if early := sum(ended_s < limit_s for own in result.ended.values() for ended_s in own):
        lines.append(
            f"Note     {early} of {trainings} trainings were over before; they stand with their "
            "last games"
        )
    few = sum(games < WINDOW for own in counts.values() for games in own)
    if few and result.asked.metric == "required-time":
        lines.append(
            f"Note     {few} of {trainings} trainings played fewer than {WINDOW} evaluation games, "
            "so they cannot reach a target; a larger evaluation.share gives more"
        )
    return lines


def _by_side(numbers: Mapping[Side, Sequence[float]]) -> str:
    return "; ".join(
        f"{side.upper()} {', '.join(f'{one:.0f}' for one in numbers[side])}" for side in SIDES
    )


# --- for programs ---------------------------------------------------------------------------------


def metric_json(result: MetricResult) -> dict[str, Any]:
    """The result for `--json`, from A's side.

    `results` has one entry; by "required-time" one for each target. Of "final" and "final-time"
    values are returns and `lead` is A's over B; by "required-time" values are seconds, null where
    the target was not reached, and `ratio` says how many times as fast A is, null where a run did
    not reach it. low and high belong to lead or ratio.
    """
    return {
        **comparison_json(result.comparison, result.comparison.seeds, result.looks),
        "metric": result.asked.metric,
        "verdict": result.verdict,
        "time_limit_s": result.asked.time_limit_s,
        "trained_s": {side: list(result.ended[side]) for side in SIDES},
        "results": [_row_json(row) for row in result.rows],
    }


def _row_json(row: MetricRow) -> dict[str, Any]:
    effect, timed = row.effect, row.target is not None
    value = None if effect is None else effect.value
    return {
        "target": row.target,
        "values": {side: list(row.values[side]) for side in SIDES},
        "games": {side: list(row.games[side]) for side in SIDES},
        "not_reached": {side: row.unreached(side) for side in SIDES},
        "lead": None if timed else value,
        "ratio": value if timed else None,
        "low": None if effect is None else effect.low,
        "high": None if effect is None else effect.high,
        "verdict": "undecided" if effect is None else effect.verdict,
    }
