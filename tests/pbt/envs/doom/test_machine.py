"""What Doom's engines lack is named before they start."""

import os
import resource
from pathlib import Path
from types import SimpleNamespace

import pytest

from pbt.envs.doom.machine import machine_problems, shared_memory_problem

SMALL = (120, 160)


def test_this_machine_lacks_nothing_for_one_table() -> None:
    assert machine_problems(1, 2, SMALL) == []


def test_no_shared_memory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "shm"
    assert shared_memory_problem(gone) is not None
    [problem] = machine_problems(1, 1, SMALL, gone)
    assert f"{gone} is missing" in problem
    found = SimpleNamespace(f_flag=os.ST_RDONLY, f_bavail=10**9, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    [problem] = machine_problems(1, 1, SMALL, tmp_path)
    assert "may not be written to" in problem


def test_too_little_shared_memory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(f_flag=0, f_bavail=16, f_frsize=65_536)
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    assert machine_problems(1, 1, SMALL, tmp_path) == []
    [problem] = machine_problems(64, 1, SMALL, tmp_path)
    assert "sampling.environments = 64: their Doom engines need" in problem
    assert "1.0 MB free" in problem and "--shm-size" in problem


def test_too_few_file_handles_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (64, 256))
    assert machine_problems(8, 1, SMALL) == []
    [problem] = machine_problems(100, 1, SMALL)
    assert "up to 500 open files, and the system allows 256" in problem


def test_an_unlimited_system_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    unlimited = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, unlimited))
    assert machine_problems(100, 1, SMALL) == []
