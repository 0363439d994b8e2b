"""`arena lineage` on a real population, and a training that replays its schedule."""

import json
from bisect import bisect_left
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.metrics import read_metrics
from arena.data.paths import population_paths
from pbt.config.load import load_config
from tests.arena.tiny_populations import CONNECT_FOUR, UNRATED, train

BRED: dict[str, Any] = {
    **CONNECT_FOUR,
    "stop_at_frames": 2400,
    "population": {"members": 3},
    "learning": {"batch_steps": 64},
    "pbt": {
        "period_frames": 500,
        "warmup_frames": 0,
        "copy_gap": 0.0,
        "min_games": 3,
        "top_share": 0.5,
        "mutation_probability": 0.5,
    },
    "evaluation": {"share": 0.0, "final_games": 0},
}
Output = pytest.CaptureFixture[str]
HYPERPARAMS = ("learning_rate", "entropy_coef", "adam_beta1", "shaping.reward")


def lineage(data: Path, capsys: Output, player: str) -> Any:
    capsys.readouterr()
    assert run(["lineage", player, "--data", str(data), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def curves(data: Path, name: str, member: str) -> dict[int, tuple[float, ...]]:
    """Frames -> hyperparameters, of every update."""
    rows = read_metrics(population_paths(data, name).metrics)
    return {
        row.frames: tuple(row.values[value] for value in HYPERPARAMS)
        for row in rows
        if row.member == member
    }


@pytest.mark.slow
def test_an_exported_schedule_trains_with_the_same_values_at_the_same_frames(
    tmp_path: Path, capsys: Output
) -> None:
    data = tmp_path / "data"
    train(data, "bred", BRED)
    found = {member: lineage(data, capsys, f"bred/{member}") for member in ("m0", "m1", "m2")}
    member = max(
        found, key=lambda name: (sum(step["kind"] == "copy" for step in found[name]["steps"]), name)
    )
    steps = found[member]["steps"]
    assert any(step["kind"] == "copy" for step in steps), (
        "the settings above were chosen to make some"
    )
    frames = [step["frames"] for step in steps]
    values = [tuple(step["hyperparams"][name] for name in HYPERPARAMS) for step in steps]

    def in_force(at: int) -> tuple[float, ...]:
        """By the lineage; a curve's row still shows what held before what is decided at its
        frames.
        """
        return values[max(0, bisect_left(frames, at) - 1)]

    for frame, shown in curves(data, "bred", member).items():
        along = frame - steps[-1]["member_frames"] + steps[-1]["frames"]
        if along > frames[-1]:
            assert shown == in_force(along)

    exported = tmp_path / "again.toml"
    assert (
        run(["lineage", f"bred/{member}", "--data", str(data), "--export-schedule", str(exported)])
        == 0
    )
    config = load_config(exported)
    assert (config.population.members, config.pbt.enabled, config.stop_at_frames) == (
        1,
        False,
        found[member]["lineage_frames"],
    )
    assert run(["train", str(exported), "--name", "again", "--data", str(data), "--json"]) == 0
    replayed = curves(data, "again", "m0")
    assert len({replayed[frame] for frame in replayed}) > 1
    assert {frame: shown for frame, shown in replayed.items() if shown != in_force(frame)} == {}
    repeated = lineage(data, capsys, "again/m0")["steps"]
    assert [(step["frames"], step["hyperparams"]) for step in repeated] == [
        (step["frames"], step["hyperparams"]) for step in steps
    ]


def test_a_member_without_rounds_and_what_is_refused(tmp_path: Path, capsys: Output) -> None:
    data = tmp_path / "data"
    train(data, "plain", UNRATED)
    report = lineage(data, capsys, "plain/m1")
    assert [(step["kind"], step["frames"], step["member"]) for step in report["steps"]] == [
        ("start", 0, "m1")
    ]
    assert report["lineage_frames"] >= 300
    taken = tmp_path / "taken.toml"
    taken.write_text("")
    assert run(["lineage", "plain/m0", "--data", str(data), "--export-schedule", str(taken)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["lineage", "plain/m7", "--data", str(data)]) == 2
    assert "has no member 'm7'" in capsys.readouterr().err
    assert run(["lineage", "plain/m0@0", "--data", str(data)]) == 0
    assert "plain/m0@0: 0 frames of training" in capsys.readouterr().out


def test_who_joined_is_shown_where_no_round_and_no_config_named_the_reward_terms(
    tmp_path: Path, capsys: Output
) -> None:
    data = tmp_path / "data"
    train(data, "joined", UNRATED)
    stop = f"stop_at_frames={2 * UNRATED['stop_at_frames']}"
    joins = 'population.joined.m2={role="player",weights="m1"}'
    words = ["--resume", "joined", "--data", str(data), "--set", stop, "--set", joins]
    assert run(["train", *words]) == 0
    steps = lineage(data, capsys, "joined/m2")["steps"]
    assert [step["kind"] for step in steps] == ["start", "join"]
    assert {tuple(step["hyperparams"]) for step in steps} == {HYPERPARAMS}
    assert steps[1]["changed"] == []
    assert run(["lineage", "joined/m2", "--data", str(data)]) == 0
    assert "joins with the weights of m1" in capsys.readouterr().out
