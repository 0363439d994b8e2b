"""The life of a training from the command line: stopped, held, damaged, trained on; two at once in one data directory."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arena.league.database import open_league
from arena.league.queries import list_events
from arena.paths import league_path, population_paths
from pbt.checkpoints import checkpoint_folders

CONFIG = """
stop_at_frames = {frames}
[env]
name = "{env}"
[population]
members = 2
[sampling]
environments = 8
rollout_steps = 4
[model]
hidden = [16]
[learning]
batch_steps = 64
[pbt]
period_frames = 500
warmup_frames = 500
[snapshots]
every_frames = 500
[evaluation]
final_games = 2
[checkpoints]
every_s = 0.2
"""


def arena(data: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "arena", *arguments, "--data", str(data)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=data)


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, errors = process.communicate(timeout=240)
    return process.returncode, out, errors


def config(data: Path, name: str, *, frames: int = 1_000_000, env: str = "tictactoe") -> str:
    (data / f"{name}.toml").write_text(CONFIG.format(frames=frames, env=env))
    return f"{name}.toml"


def wait_for_checkpoints(data: Path, name: str, count: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        folders = checkpoint_folders(population_paths(data, name).checkpoints)
        if folders and int(folders[-1].name) >= count:
            return
        time.sleep(0.02)  # polling another process's files, with a deadline
    raise AssertionError(f"no checkpoint {count} of {name}")


def test_ctrl_c_saves_and_resume_goes_on(tmp_path: Path) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a"))
    wait_for_checkpoints(tmp_path, "a", 2)
    process.send_signal(signal.SIGINT)
    code, _, errors = finished(process)
    assert code == 0 and "stopped and saved" in errors and "arena train --resume a" in errors
    code, out, errors = finished(arena(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=2000", "--json"))
    # The first start may have come further than the stop that is asked for now.
    assert code == 0 and json.loads(out)["finished"], errors


def test_a_second_trainer_is_refused_with_the_holders_pid_and_stop_ends_the_first(tmp_path: Path) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a"))
    wait_for_checkpoints(tmp_path, "a", 1)
    code, _, errors = finished(arena(tmp_path, "train", "--resume", "a"))
    assert code == 1 and f"process {process.pid}" in errors and "arena stop a" in errors
    code, _, errors = finished(arena(tmp_path, "stop", "a"))
    assert code == 0 and str(process.pid) in errors
    assert finished(process)[0] == 0


def test_two_trainings_at_once_share_one_league(tmp_path: Path) -> None:
    processes = [arena(tmp_path, "train", config(tmp_path, name, frames=1500), "--json") for name in ("a", "b")]
    for process in processes:
        code, out, errors = finished(process)
        assert code == 0 and json.loads(out)["finished"], errors


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
    code, _, errors = finished(arena(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=1500"))
    assert code == 0, errors
    with open_league(league_path(tmp_path), read_only=True) as league:
        texts = [stored.event.text for stored in list_events(league, "a")]
    assert any(newest.name in text and "learner-m0.safetensors is damaged" in text for text in texts)


def test_edits_that_change_shapes_are_refused_and_others_are_logged(tmp_path: Path) -> None:
    assert finished(arena(tmp_path, "train", config(tmp_path, "a", frames=600)))[0] == 0
    code, _, errors = finished(arena(tmp_path, "train", "--resume", "a", "--set", "model.hidden=[8]", "--set", "sampling.rollout_steps=2"))
    assert code == 2 and "model.hidden" in errors and "sampling.rollout_steps" in errors
    code, _, errors = finished(arena(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=1200", "--set", "learning.learning_rate=0.0005"))
    assert code == 0, errors
    with open_league(league_path(tmp_path), read_only=True) as league:
        texts = [stored.event.text for stored in list_events(league, "a") if stored.event.kind == "edit"]
    assert "edited stop_at_frames: 600 -> 1200" in texts and any("learning_rate" in text for text in texts)


@pytest.mark.parametrize("env", ["hide_and_seek", "rock_paper_scissors", "memory", "cartpole", pytest.param("leduc_holdem", marks=pytest.mark.slow)])
def test_every_kind_of_game_trains_to_its_stop(tmp_path: Path, env: str) -> None:
    code, out, errors = finished(arena(tmp_path, "train", config(tmp_path, "a", frames=1000, env=env), "--json"))
    assert code == 0, errors
    result = json.loads(out)
    assert result["finished"] and all(member["frames"] >= 1000 for member in result["members"])
    code, _, errors = finished(arena(tmp_path, "rounds", "verify", "a"))
    assert code == 0, errors


def test_checkpoints_that_are_gone_are_not_taken_for_a_fresh_start(tmp_path: Path) -> None:
    assert finished(arena(tmp_path, "train", config(tmp_path, "a", frames=600)))[0] == 0
    checkpoints = population_paths(tmp_path, "a").checkpoints
    checkpoints.rename(tmp_path / "elsewhere")
    code, _, errors = finished(arena(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=900"))
    assert code == 1 and "the checkpoints of 'a' are gone" in errors and "resuming" not in errors
    (tmp_path / "elsewhere").rename(checkpoints)
    assert finished(arena(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=900"))[0] == 0
