"""Comparisons by evaluation games: what is read of a league, what is refused, and whole ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.cli.compare_metrics import metric_json, metric_lines, read_metric
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.matches.compare import Comparison, Contestant
from arena.matches.compare_metrics import (
    AskedMetric,
    EvaluatedRun,
    MetricResult,
    TrainingClock,
    _row,
    read_run,
)
from arena.matches.plan_problems import PlanError
from arena.stats.evaluation_curves import Episode
from pbt.config.schema import RunConfig

CONFIG = """
[env]
name = "cartpole"
[population]
members = 1
[model]
hidden = [8]
[sampling]
environments = 8
rollout_steps = 16
[learning]
batch_steps = 128
epochs = 1
minibatches = 1
[pbt]
enabled = false
[evaluation]
share = 0.5
final_games = 20
[snapshots]
every_frames = 128
[runtime]
placement = "serial"
"""
Output = pytest.CaptureFixture[str]


# --- the clock ------------------------------------------------------------------------------------


def test_seconds_are_those_of_the_training() -> None:
    clock = TrainingClock([100.0], [130.0, 160.5])
    assert [clock.seconds(at) for at in (130.0, 160.5)] == [30.0, 60.5]
    # A game is committed in whole seconds, perhaps in that of the start.
    assert clock.seconds(100.0) == clock.seconds(99.0) == 1.0


def test_the_time_between_two_starts_does_not_count() -> None:
    clock = TrainingClock([100.0, 5000.0, 9000.0], [130.0, 5010.0, 9007.0])
    assert [clock.seconds(at) for at in (130.0, 5010.0, 9007.0)] == [30.0, 40.0, 47.0]


def test_a_start_of_which_nothing_stands_counts_for_nothing() -> None:
    clock = TrainingClock([100.0, 5000.0, 9000.0], [130.0, 9007.0])
    assert clock.seconds(9007.0) == 37.0


# --- results --------------------------------------------------------------------------------------


def evaluated(rises: float, games: int = 200) -> EvaluatedRun:
    """A game each second, by a policy for every ten, with returns that rise."""
    episodes = [Episode("m0", f"p{at // 10}", at + 1.0, rises * at) for at in range(games)]
    return EvaluatedRun("x-a1", tuple(episodes), float(games))


def result(
    asked: AskedMetric, a: tuple[EvaluatedRun, ...], b: tuple[EvaluatedRun, ...]
) -> MetricResult:
    configs = [
        RunConfig.model_validate({"env": {"name": "cartpole"}, "learning": {"gamma": gamma}})
        for gamma in (0.99, 0.9)
    ]
    contestants: Any = {
        side: Contestant(side.upper(), f"{side}.toml", one, ())
        for side, one in zip("ab", configs, strict=True)
    }
    comparison = Comparison("x", contestants, len(a), 500, 400, Path("data"))
    runs: Any = {"a": a, "b": b}
    rows = tuple(_row("x", runs, asked, target) for target in asked.targets or (None,))
    ended: Any = {side: tuple(run.ended_s for run in own) for side, own in runs.items()}
    return MetricResult(comparison, asked, rows, ended, (len(a),))


FAST = tuple(evaluated(rises) for rises in (2.0, 2.1, 2.2, 1.9))
SLOW = tuple(evaluated(rises) for rises in (1.0, 1.1, 1.0, 0.9))


def told(found: MetricResult) -> tuple[dict[str, Any], list[str]]:
    lines = metric_lines(found)
    assert not any(word in " ".join(lines) for word in ("nan", "inf ", "None"))
    return json.loads(json.dumps(metric_json(found), allow_nan=False)), lines


def test_the_newest_policies_of_all_seeds_are_compared() -> None:
    found, lines = told(result(AskedMetric("final"), FAST, SLOW))
    (row,) = found["results"]
    assert row["values"]["a"] == pytest.approx([149.5 * one for one in (2.0, 2.1, 2.2, 1.9)])
    assert row["lead"] == pytest.approx(149.5 * (2.05 - 1.0)) and row["low"] > 0
    assert row["games"] == {"a": [100] * 4, "b": [100] * 4} and row["ratio"] is None
    assert (found["metric"], found["verdict"]) == ("final", "better")
    assert any(line.startswith("Lead     +157 for A [+") for line in lines)
    assert lines[-1] == "Verdict  A is better (95 %, 4 seeds)"


def test_a_time_limit_leaves_out_what_came_later() -> None:
    asked = AskedMetric("final-time", time_limit_s=50.0)
    found, lines = told(result(asked, FAST, SLOW))
    (row,) = found["results"]
    assert row["values"]["b"][0] == pytest.approx(24.5) and row["games"]["b"] == [50] * 4
    assert found["time_limit_s"] == 50.0 and not any(line.startswith("Note") for line in lines)
    early = tuple(evaluated(1.0, games=30) for _ in range(4))
    _, lines = told(result(asked, FAST, early))
    assert any(line.startswith("Note     4 of 8 trainings were over before") for line in lines)


def test_times_until_targets_are_a_ratio() -> None:
    found, lines = told(result(AskedMetric("required-time", targets=(100.0, 120.0)), FAST, SLOW))
    first, second = found["results"]
    # The mean of the hundred games up to that of 100 s is 49.5 times the rise.
    assert first["values"]["a"][0] == 101.0 and first["values"]["b"][0] == 151.0
    assert first["target"] == 100.0 and first["lead"] is None
    expected = sum(first["values"]["b"]) / sum(first["values"]["a"])
    assert first["ratio"] == pytest.approx(expected) and first["low"] > 1
    assert second["ratio"] > 1 and found["verdict"] == "better"
    assert any(line.startswith("Ratio    A is 1.5") for line in lines)
    turned, _ = told(result(AskedMetric("required-time", targets=(100.0,)), SLOW, FAST))
    assert turned["verdict"] == "worse" and turned["results"][0]["high"] < 1


def test_a_target_that_some_do_not_reach_gives_no_ratio() -> None:
    found, lines = told(result(AskedMetric("required-time", targets=(100.0, 160.0)), FAST, SLOW))
    first, second = found["results"]
    assert first["not_reached"] == {"a": 0, "b": 0} and first["verdict"] == "better"
    assert second["not_reached"] == {"a": 0, "b": 3} and second["values"]["b"].count(None) == 3
    assert (second["ratio"], second["low"], second["high"]) == (None, None, None)
    assert found["verdict"] == "undecided"
    assert any(line.endswith("not reached in 3 of 4 seeds") for line in lines)
    assert any(line.startswith("Ratio    not known, since some runs did not") for line in lines)


def test_trainings_with_too_few_games_for_a_mean_are_counted() -> None:
    few = tuple(evaluated(9.0, games=90) for _ in range(4))
    found, lines = told(result(AskedMetric("required-time", targets=(100.0,)), FAST, few))
    assert found["results"][0]["not_reached"] == {"a": 0, "b": 4}
    assert any(line.startswith("Note     4 of 8 trainings played fewer than 100") for line in lines)


def test_one_seed_has_no_interval() -> None:
    found, lines = told(result(AskedMetric("final"), FAST[:1], SLOW[:1]))
    assert found["verdict"] == "undecided" and found["results"][0]["low"] is None
    assert any("; one seed, or seeds that are all alike" in line for line in lines)


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("best", None, ()), "--metric best: expected one of final, final-time, required-time"),
        (("final-time", None, ()), "--metric final-time: --time-limit is missing"),
        (("required-time", None, ()), "--metric required-time: --target is missing"),
        (("final", 10.0, ()), "--time-limit: only --metric final-time has one"),
        ((None, None, (1.0,)), "--target: only --metric required-time has one"),
    ],
)
def test_options_that_contradict_each_other_are_refused(given: Any, problem: str) -> None:
    with pytest.raises(PlanError) as error:
        read_metric(*given)
    assert problem in str(error.value)


def compare(tmp_path: Path, *more: str) -> int:
    path = tmp_path / "pole.toml"
    path.write_text(CONFIG)
    given = ["compare", str(path), str(path), "--frames", "1500", "--seeds", "1"]
    own = ["--set-b", "learning.learning_rate=0", "--data", str(tmp_path / "data")]
    return run([*given, *own, *more])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--metric", "final-time"), "--metric final-time: --time-limit is missing; give it"),
        (
            ("--metric", "final", "--set", "env.name=tictactoe"),
            "env.name: tictactoe has 2 seats; a metric compares what games of one seat return",
        ),
        (
            ("--metric", "required-time", "--target", "9", "--set-a", "evaluation.share=0"),
            "A: evaluation.share = 0: required-time counts the evaluation games",
        ),
    ],
)
def test_what_a_metric_cannot_compare_is_refused_before_anything_is_written(
    tmp_path: Path, more: tuple[str, ...], message: str, capsys: Output
) -> None:
    assert compare(tmp_path, *more) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and message in captured.err
    assert not (tmp_path / "data").exists()


def test_the_same_trainings_are_compared_by_every_metric(tmp_path: Path, capsys: Output) -> None:
    assert compare(tmp_path, "--metric", "final", "--json") == 6
    final = json.loads(capsys.readouterr().out)
    (row,) = final["results"]
    name = final["populations"]["a"][0]
    with open_league(league_path(tmp_path / "data"), read_only=True) as league:
        found = read_run(league, name)
    assert {one.member for one in found.episodes} == {"m0"} and len(found.episodes) >= 20
    assert all(1.0 <= one.at_s <= found.ended_s for one in found.episodes)
    assert row["games"]["a"][0] <= 100 and 5 < row["values"]["a"][0] < 500
    for more in (
        ("--metric", "final-time", "--time-limit", "600"),
        ("--metric", "required-time", "--target", "5", "--target", "499"),
    ):
        assert compare(tmp_path, *more, "--json") == 6
        captured = capsys.readouterr()
        assert "is trained" in captured.err and "training pole" not in captured.err
        other = json.loads(captured.out)
        if other["metric"] == "final-time":
            assert other["results"][0]["values"] == row["values"]
        else:
            low, high = other["results"]
            assert low["target"] == 5.0 and high["not_reached"] == {"a": 1, "b": 1}
    assert not (tmp_path / "data" / "comparisons" / "pole.json").read_text().count('"match"')
