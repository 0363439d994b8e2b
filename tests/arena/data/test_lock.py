"""The lock of a population, taken by one process and read by others."""

import subprocess
import sys
from pathlib import Path

import pytest

from arena.data.lock import PopulationLock, holder
from pbt.errors import HeldError

LOOKS = (
    "import sys; from pathlib import Path; from arena.data.lock import "
    "holder\nprint(flush=True)\nwhile True: holder(Path(sys.argv[1]))"
)


def test_it_is_refused_to_a_second_and_free_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        PopulationLock(path, "one"),
        pytest.raises(HeldError, match="held by process"),
        PopulationLock(path, "one"),
    ):
        pass
    assert holder(path) is None
    with PopulationLock(path, "one"):
        assert holder(path) is not None


def test_reading_the_holder_keeps_no_process_from_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-P", "-c", LOOKS, str(path)], stdout=subprocess.PIPE
    ) as looking:
        try:
            assert looking.stdout is not None and looking.stdout.readline()
            for _ in range(3000):
                with PopulationLock(path, "one"):
                    pass
        finally:
            looking.kill()
