"""Removes what engines leave behind, and nothing of engines in another container.

Such a container shares the folder, but its processes cannot be seen.
"""

import mmap
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pbt.envs.doom import strays
from pbt.envs.doom.strays import folder_prefix, remove_strays

ELSEWHERE = 1 + os.stat("/proc/self/ns/pid").st_ino


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For folders and names of this test's own."""
    (tmp_path / "shm").mkdir()
    monkeypatch.setattr(strays, "SHARED", tmp_path / "shm")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def gone() -> int:
    """The pid of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def folder(prefix: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=prefix))


def test_folders_of_the_dead_go_and_those_of_the_living_stay(place: Path, gone: int) -> None:
    dead, living = folder(folder_prefix(gone)), folder(folder_prefix(os.getpid()))
    assert remove_strays() == [dead]
    assert living.exists() and not dead.exists()


def test_folders_of_another_container_stay(place: Path, gone: int) -> None:
    """There the number may be that of a live process."""
    other = folder(f"doom-engine-ns{ELSEWHERE}-{gone}-")
    assert remove_strays() == [] and other.exists()


def test_names_of_folders_of_older_versions_are_read(place: Path, gone: int) -> None:
    dead, living = folder(f"doom-engine-{gone}-"), folder(f"doom-engine-{os.getpid()}-")
    assert remove_strays() == [dead] and living.exists()


def test_older_versions_leave_folders_alone(gone: int) -> None:
    """Older versions know of no containers, and remove what they can read."""
    assert not folder_prefix(gone).removeprefix("doom-engine-")[0].isdigit()


@pytest.mark.parametrize("visible", [True, False])
def test_a_name_that_somebody_has_mapped_stays_also_where_nobody_sees_who(
    place: Path, monkeypatch: pytest.MonkeyPatch, visible: bool
) -> None:
    if not visible:
        monkeypatch.setattr(strays, "_mapped", set)
    path = place / "shm" / "ViZDoomSMabc"
    path.write_bytes(bytes(4096))
    with path.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), 4096)
        assert remove_strays(young_s=-1.0) == []
    assert remove_strays(young_s=-1.0) == []
    shared.close()
    assert remove_strays(young_s=-1.0) == [path]
