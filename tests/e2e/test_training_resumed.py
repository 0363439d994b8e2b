"""Trainings that go on: with edits, after damage, and with what was decided once."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.stored_history import list_events
from pbt.checkpoint.folders import checkpoint_folders
from tests.e2e.trainings import (
    arena,
    config,
    end_all,
    finished,
    wait_for_checkpoints,
)


@pytest.fixture(autouse=True)
def _nothing_runs_on() -> Iterator[None]:
    yield
    end_all()


@pytest.mark.slow
def test_the_number_of_tables_is_decided_once_and_processes_at_every_start(tmp_path: Path) -> None:
    edits = ("--set", "sampling.environments=auto", "--set", "runtime.workers=auto")
    assert finished(arena(tmp_path, "train", config(tmp_path, "a", frames=600), *edits))[0] == 0
    stored = json.loads(population_paths(tmp_path, "a").config.read_text())
    assert stored["sampling"]["environments"] == 128 and stored["runtime"]["workers"] == "auto"
    code, _, errors = finished(
        arena(tmp_path, "train", "--resume", "a", "--set", "sampling.environments=64")
    )
    assert (
        code == 2
        and "sampling.environments = 64: fixed at 128 when the population started" in errors
    )


@pytest.mark.slow
def test_a_damaged_checkpoint_is_passed_over_with_an_event(tmp_path: Path) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a"))
    wait_for_checkpoints(tmp_path, "a", 3)
    process.kill()
    process.communicate()
    newest = checkpoint_folders(population_paths(tmp_path, "a").checkpoints)[-1]
    learner = newest / "learner-m0.safetensors"
    content = bytearray(learner.read_bytes())
    content[len(content) // 2] ^= 1
    learner.write_bytes(content)
    code, _, errors = finished(
        arena(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=1500")
    )
    assert code == 0, errors
    with open_league(league_path(tmp_path), read_only=True) as league:
        texts = [stored.event.text for stored in list_events(league, "a")]
    assert any(
        newest.name in text and "learner-m0.safetensors is damaged" in text for text in texts
    )


@pytest.mark.slow
def test_edits_that_change_shapes_are_refused_and_others_are_logged(tmp_path: Path) -> None:
    assert finished(arena(tmp_path, "train", config(tmp_path, "a", frames=600)))[0] == 0
    code, _, errors = finished(
        arena(
            tmp_path,
            "train",
            "--resume",
            "a",
            "--set",
            "model.hidden=[8]",
            "--set",
            "sampling.rollout_steps=2",
        )
    )
    assert code == 2 and "model.hidden" in errors and "sampling.rollout_steps" in errors
    code, _, errors = finished(
        arena(
            tmp_path,
            "train",
            "--resume",
            "a",
            "--set",
            "stop_at_frames=1200",
            "--set",
            "learning.learning_rate=0.0007",
        )
    )
    assert code == 0, errors
    assert "frames to go rather than 0" in errors
    assert "learning.learning_rate: every member gets this value" in errors
    with open_league(league_path(tmp_path), read_only=True) as league:
        texts = [
            stored.event.text for stored in list_events(league, "a") if stored.event.kind == "edit"
        ]
    assert "edited stop_at_frames: 600 -> 1200" in texts and any(
        "learning_rate" in text for text in texts
    )


@pytest.mark.slow
def test_checkpoints_that_are_gone_are_not_taken_for_a_fresh_start(tmp_path: Path) -> None:
    assert finished(arena(tmp_path, "train", config(tmp_path, "a", frames=600)))[0] == 0
    checkpoints = population_paths(tmp_path, "a").checkpoints
    checkpoints.rename(tmp_path / "elsewhere")
    code, _, errors = finished(
        arena(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=900")
    )
    assert code == 1 and "the checkpoints of 'a' are gone" in errors and "resuming" not in errors
    (tmp_path / "elsewhere").rename(checkpoints)
    assert (
        finished(arena(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=900"))[0] == 0
    )
