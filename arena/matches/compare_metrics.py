"""A comparison by what the trainings' evaluation games returned, instead of by finals.

It reads the league and plays nothing. Games have one seat, and count in returns.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from arena.data.paths import league_path
from arena.league.database import League, open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.populations import start_times
from arena.league.stored_snapshots import list_snapshots
from arena.matches.compare import SIDES, Comparison, Side, check, read_kept
from arena.matches.compare_finals import looks_of
from arena.stats.evaluation_curves import Episode, newest_mean, seconds_until
from arena.stats.paired_bootstrap import PairedEffect, paired_difference, paired_ratio
from pbt.errors import PbtError
from pbt.seeding import generator

Metric = Literal["final", "final-time", "required-time"]
Values = tuple[float | None, ...]


@dataclass(frozen=True)
class AskedMetric:
    """By what is compared.

    metric        "final": what the newest policies return; "final-time": those of a moment;
                  "required-time": seconds until evaluation games return a target
    time_limit_s  the moment of "final-time", in seconds of training
    targets       of "required-time", at least one
    """

    metric: Metric
    time_limit_s: float | None = None
    targets: tuple[float, ...] = ()


@dataclass(frozen=True)
class EvaluatedRun:
    """The evaluation games of a trained run.

    population  its name
    episodes    in the order in which they ended
    ended_s     seconds of training until the last of them, or the last snapshot
    """

    population: str
    episodes: tuple[Episode, ...]
    ended_s: float


@dataclass(frozen=True)
class MetricRow:
    """What one question gave for all runs.

    target  of "required-time"
    values  by side and seed: returns, or seconds; None: the target was not reached
    games   by side and seed, evaluation games behind the value, or played at all
    effect  of A over B: the difference of returns, or how many times as fast A is; None where a run
            did not reach the target, so that its time is not known
    """

    target: float | None
    values: Mapping[Side, Values]
    games: Mapping[Side, tuple[int, ...]]
    effect: PairedEffect | None

    def unreached(self, side: Side) -> int:
        """The runs of a side that did not reach the target."""
        return self.values[side].count(None)


@dataclass(frozen=True)
class MetricResult:
    """The result of a comparison by a metric.

    rows   one; of "required-time" one for each target
    ended  by side and seed, seconds of each training
    looks  as in `ComparisonResult`
    """

    comparison: Comparison
    asked: AskedMetric
    rows: tuple[MetricRow, ...]
    ended: Mapping[Side, tuple[float, ...]]
    looks: tuple[int, ...]

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        """Whether A is better, at every target where there are several."""
        verdicts = {"undecided" if row.effect is None else row.effect.verdict for row in self.rows}
        return verdicts.pop() if len(verdicts) == 1 else "undecided"


def check_metric(comparison: Comparison, asked: AskedMetric) -> None:
    """Check that the trainings will have what a metric asks for.

    Raises: PlanError for games of several seats, and for trainings without evaluation games.
    """
    spec = check(comparison)
    config = comparison.contestants["a"].config
    game = spec.make(**config.env.game_options)
    seats = len(game.seat_roles)
    game.close()
    if seats > 1:
        raise comparison.refused(
            "/a/env/name",
            f"env.name: {config.env.name} has {seats} seats; a metric compares what games of one "
            "seat return; compare by the finals, without a metric",
        )
    for side in SIDES:
        rules = comparison.contestants[side].config.evaluation
        if rules.share == 0.0 and (asked.metric != "final" or rules.final_games == 0):
            raise comparison.refused(
                f"/{side}/evaluation/share",
                f"{side.upper()}: evaluation.share = 0: {asked.metric} counts the evaluation games "
                "of the training; set it to 0.1, for instance",
            )


def measure(comparison: Comparison, asked: AskedMetric) -> MetricResult:
    """Compare trainings that are over. Raises: PbtError for one without games that count."""
    kept = read_kept(comparison)
    with open_league(league_path(comparison.data), read_only=True) as league:
        runs = {
            side: [
                read_run(league, comparison.population(side, seed))
                for seed in range(1, comparison.seeds + 1)
            ]
            for side in SIDES
        }
    targets = asked.targets if asked.metric == "required-time" else (None,)
    rows = tuple(_row(comparison.name, runs, asked, target) for target in targets)
    ended = {side: tuple(run.ended_s for run in own) for side, own in runs.items()}
    return MetricResult(comparison, asked, rows, ended, looks_of(comparison, kept))


def read_run(league: League, population: str) -> EvaluatedRun:
    """The evaluation games of a population that stand. Raises: PlayerError."""
    starts = start_times(league, population)
    wanted = GameFilter("evaluation", voided=False)
    games = list(population_games(league, population, wanted))
    made = list_snapshots(league, population)
    members = {one.record.snapshot_id: one.record.member for one in made}
    moments = [float(game.committed_at) for game in games] + [one.created_at for one in made]
    clock = TrainingClock(starts, moments)
    episodes = []
    for game in games:
        (seat,) = game.record.seats
        member = members.get(seat.player.name, "")
        at_s = clock.seconds(game.committed_at)
        episodes.append(Episode(member, seat.player.name, at_s, seat.returns))
    return EvaluatedRun(population, tuple(episodes), clock.seconds(max(moments, default=0.0)))


class TrainingClock:
    """Seconds of training, without the time between one start of a population and the next.

    A start counts up to the last moment of it that stands.
    """

    def __init__(self, starts: Sequence[float], moments: Sequence[float]) -> None:
        """starts, moments: in seconds since the epoch; the moments are of what stands."""
        self._starts, self._before = sorted(starts), list[float]()
        lasted, in_order = 0.0, sorted(moments)
        for start, following in zip(self._starts, [*self._starts[1:], float("inf")], strict=True):
            self._before.append(lasted)
            known = bisect_right(in_order, following)
            last = in_order[known - 1] if known else start
            lasted += max(0.0, last - start)

    def seconds(self, moment: float) -> float:
        """The seconds of training at a moment. Games know theirs to the second: 1 at least."""
        at = max(0, bisect_right(self._starts, moment) - 1)
        return max(1.0, self._before[at] + moment - self._starts[at])


def _row(
    name: str,
    runs: Mapping[Side, Sequence[EvaluatedRun]],
    asked: AskedMetric,
    target: float | None,
) -> MetricRow:
    """What one question gives. target: of "required-time", else None."""
    rng = generator(0, "compare", name, asked.metric)
    if target is None:
        means = {side: [_mean(run, asked) for run in own] for side, own in runs.items()}
        returns = {side: [mean for mean, _ in own] for side, own in means.items()}
        counts = {side: tuple(games for _, games in own) for side, own in means.items()}
        effect = paired_difference(returns["a"], returns["b"], rng)
        return MetricRow(None, {side: tuple(own) for side, own in returns.items()}, counts, effect)
    values = {
        side: tuple(seconds_until(run.episodes, target) for run in own)
        for side, own in runs.items()
    }
    played = {side: tuple(len(run.episodes) for run in own) for side, own in runs.items()}
    known = {side: [one for one in own if one is not None] for side, own in values.items()}
    whole = all(len(known[side]) == len(values[side]) for side in SIDES)
    ratio = paired_ratio(known["a"], known["b"], rng) if whole else None
    return MetricRow(target, values, played, ratio)


def _mean(run: EvaluatedRun, asked: AskedMetric) -> tuple[float, int]:
    """The mean return of a run's newest policies, and the number of games behind it."""
    found = newest_mean(run.episodes, asked.time_limit_s)
    if found is None:
        more = (
            "compare under another name with a larger evaluation.share and smaller "
            "snapshots.every_frames"
        )
        if asked.time_limit_s is None:
            raise PbtError(f"{run.population} has no evaluation game; {more}")
        raise PbtError(
            f"{run.population} has no evaluation game within {asked.time_limit_s:g} s, of "
            f"{len(run.episodes)} in {run.ended_s:.0f} s; take a later --time-limit, or {more}"
        )
    return found.value, found.episodes
