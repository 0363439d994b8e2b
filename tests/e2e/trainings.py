"""Trainings of the command line, as a person starts them."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from arena.data.paths import population_paths
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

STARTED: list[subprocess.Popen[str]] = []


def end_all() -> None:
    """End what a failed test left running."""
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
