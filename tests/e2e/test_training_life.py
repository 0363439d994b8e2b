"""The life of a training from the command line: stopped, held, damaged, trained on, looked at;
two at once in one data directory.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.stored_history import list_events
from pbt.checkpoint.folders import checkpoint_folders

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
[runtime]
placement = "{placement}"
workers = 2
"""
RAISING = """
import itertools
import numpy as np
from gymnasium import Env, spaces

steps = itertools.count()

class Raising(Env):
    observation_space, action_space = spaces.Box(0.0, 1.0, (1,)), spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        played = next(steps)
        if played > 400:
            raise RuntimeError("the dice fell off the table")
        return np.zeros(1, np.float32), 0.0, played % 10 == 0, False, {}

def make():
    return Raising()
"""


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def _nothing_runs_on() -> Iterator[None]:
    """What a failed test left running ends here."""
    yield
    for process in STARTED:
        if process.poll() is None:
            process.kill()
        if process.stdout is not None and not process.stdout.closed:
            process.communicate()
    STARTED.clear()


def arena(data: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "arena", *arguments, "--data", str(data)]
    STARTED.append(
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=data
        )
    )
    return STARTED[-1]


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, errors = process.communicate(timeout=240)
    return process.returncode, out, errors


def config(
    data: Path,
    name: str,
    *,
    frames: int = 1_000_000,
    env: str = "tictactoe",
    placement: str = "serial",
) -> str:
    (data / f"{name}.toml").write_text(CONFIG.format(frames=frames, env=env, placement=placement))
    return f"{name}.toml"


def answer(data: Path, *arguments: str) -> Any:
    """What a command says as JSON."""
    code, out, errors = finished(arena(data, *arguments, "--json"))
    assert code == 0, errors
    return json.loads(out)


def children(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def assert_gone(pids: list[int]) -> None:
    """Every one of these processes ends within 5 s."""
    alive = psutil.wait_procs(
        [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=5
    )[1]
    assert not alive


def wait_for_checkpoints(data: Path, name: str, count: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        folders = checkpoint_folders(population_paths(data, name).checkpoints)
        if folders and int(folders[-1].name) >= count:
            return
        assert STARTED[-1].poll() is None, finished(STARTED[-1])
        time.sleep(0.02)  # polling another process's files, with a deadline
    raise AssertionError(f"no checkpoint {count} of {name}")


@pytest.mark.parametrize("placement", ["inline", pytest.param("central", marks=pytest.mark.slow)])
def test_ctrl_c_saves_and_resume_goes_on(placement: str, tmp_path: Path) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a", placement=placement))
    wait_for_checkpoints(tmp_path, "a", 3)
    started = children(process.pid)
    assert bool(started) == (placement != "serial")
    process.send_signal(signal.SIGINT)
    code, _, errors = finished(process)
    assert code == 0 and "stopped and saved" in errors and "arena train --resume a" in errors
    assert_gone(started)
    # Where its time and its rows went is the last that is said.
    assert f"placement {placement}" in errors and "rows: " in errors and "simulating" in errors
    # The first start may have come further than the stop that is asked for now.
    assert answer(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=2000")["finished"]


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["serial", "inline"])
def test_ctrl_c_twice_stops_now_and_leaves_no_process(placement: str, tmp_path: Path) -> None:
    process = arena(
        tmp_path,
        "train",
        config(tmp_path, "a", placement=placement),
        "--set",
        "checkpoints.every_s=0.05",
    )
    wait_for_checkpoints(tmp_path, "a", 2)
    started = children(process.pid)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    code, _, errors = finished(process)
    # The first may have been answered before the second came.
    assert code == 130 or (code == 0 and "stopped and saved" in errors), errors
    assert (code == 130) == (
        "what came after the last checkpoint is lost. Go on with: arena train --resume a" in errors
    ), errors
    assert_gone(started)
    assert answer(tmp_path, "status", "a")["state"] in {"interrupted", "stopped and saved"}
    assert answer(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=1000")["finished"]


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["serial", "central"])
def test_a_game_that_raises_ends_the_run_with_its_reason(placement: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(RAISING)
    path = config(tmp_path, "a", env="./bad.py:make", placement=placement)
    code, _, errors = finished(arena(tmp_path, "train", path))
    assert (
        code == 1
        and "the dice fell off the table" in errors
        and "Traceback" not in errors.splitlines()[0]
    )
    seen = answer(tmp_path, "status", "a")
    assert not seen["running"] and seen["state"].startswith("failed: EnvError")


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["serial", "central"])
def test_status_and_telemetry_tell_what_a_run_does(placement: str, tmp_path: Path) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a", placement=placement))
    wait_for_checkpoints(tmp_path, "a", 3)
    deadline = time.monotonic() + 60
    while not (seen := answer(tmp_path, "status", "a"))["processes"] or not all(
        member["frames"] for member in seen["members"]
    ):
        assert time.monotonic() < deadline, seen
    assert (
        seen["running"]
        and seen["pid"] == process.pid
        and seen["placement"] == placement
        and not seen["stale"]
    )
    assert [member["name"] for member in seen["members"]] == ["m0", "m1"]
    roles = {role.split()[0] for row in seen["processes"] for role in row["roles"]}
    assert {"worker", "learner"} <= roles and {row["pid"] for row in seen["processes"]} <= {
        process.pid,
        *children(process.pid),
    }
    code, out, _ = finished(arena(tmp_path, "status", "a"))
    assert code == 0 and out.startswith(
        f"a is running (process {process.pid}), placement {placement}"
    )
    process.kill()
    process.communicate()
    assert answer(tmp_path, "status", "a")["state"] == "killed"
    result = answer(tmp_path, "train", "--resume", "a", "--set", "stop_at_frames=1000")
    rows = result["rows"]
    assert rows["produced"] == rows["trained"] + rows["standing"] + sum(rows["dropped"].values())
    assert answer(tmp_path, "status", "a")["state"] == "finished"
    code, out, _ = finished(arena(tmp_path, "metrics", "a", "--telemetry"))
    assert (
        code == 0
        and out.startswith("incarnation,t,elapsed_s,frames,restarts,rows_produced")
        and len(out.splitlines()) >= 2
    )


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
def test_a_second_trainer_is_refused_with_the_holders_pid_and_stop_ends_the_first(
    tmp_path: Path,
) -> None:
    process = arena(tmp_path, "train", config(tmp_path, "a"))
    wait_for_checkpoints(tmp_path, "a", 1)
    code, _, errors = finished(arena(tmp_path, "train", "--resume", "a"))
    assert code == 1 and f"process {process.pid}" in errors and "arena stop a" in errors
    code, _, errors = finished(arena(tmp_path, "stop", "a"))
    assert code == 0 and str(process.pid) in errors
    assert finished(process)[0] == 0


@pytest.mark.slow
def test_two_trainings_at_once_share_one_league(tmp_path: Path) -> None:
    processes = [
        arena(tmp_path, "train", config(tmp_path, name, frames=1500), "--json")
        for name in ("a", "b")
    ]
    for process in processes:
        code, out, errors = finished(process)
        assert code == 0 and json.loads(out)["finished"], errors


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
    with open_league(league_path(tmp_path), read_only=True) as league:
        texts = [
            stored.event.text for stored in list_events(league, "a") if stored.event.kind == "edit"
        ]
    assert "edited stop_at_frames: 600 -> 1200" in texts and any(
        "learning_rate" in text for text in texts
    )


@pytest.mark.slow
@pytest.mark.parametrize("env", ["hide_and_seek", "memory", "leduc_holdem"])
def test_every_kind_of_game_trains_to_its_stop(tmp_path: Path, env: str) -> None:
    code, out, errors = finished(
        arena(tmp_path, "train", config(tmp_path, "a", frames=1000, env=env), "--json")
    )
    assert code == 0, errors
    result = json.loads(out)
    assert result["finished"] and all(member["frames"] >= 1000 for member in result["members"])
    code, _, errors = finished(arena(tmp_path, "verify", "a"))
    assert code == 0, errors


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
