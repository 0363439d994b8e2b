"""A full disk during checkpoints, snapshots, game commits, curves and films: nothing is corrupt,
the service lives, all goes on when there is room.

ARENA_FULLS: how often it fills up while a population trains under the service (default 2).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.readme_parts import ROOT

SIZE = "96m"
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
FULLS = int(os.environ.get("ARENA_FULLS", "2"))


def can_mount() -> bool:
    """Whether this machine lets its users have mounts of their own."""
    return (
        shutil.which("unshare") is not None
        and subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.slow
@pytest.mark.timeout(300 + 200 * FULLS)
@pytest.mark.skipif(not can_mount(), reason="needs mounts of its own (unshare -rm)")
def test_a_full_disk_breaks_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    inside = 'mount -t tmpfs -o size=$0 small $ARENA_SMALL_DISK && exec "$@"'
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-s",
        "-p",
        "no:cacheprovider",
        str(ROOT / "tests/e2e/on_a_small_disk.py"),
    ]
    done = subprocess.run(
        [
            *NAMESPACE,
            "sh",
            "-c",
            inside,
            SIZE,
            *tests,
            f"--basetemp={tmp_path / 'inside'}",
            "--timeout=600",
        ],
        cwd=ROOT,
        env={**os.environ, "ARENA_SMALL_DISK": str(disk), "ARENA_FULLS": str(FULLS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "7 passed" in done.stdout
    print(next(line for line in done.stdout.splitlines() if "times full" in line))
    # The mount was visible to no other process.
    assert list(disk.iterdir()) == []
