"""Checkpoints of format 2 go on by this program. `make_stored_2.py` says what is stored.

Those of format 1 are resumed in `tests/fence/test_stored.py`.
"""

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from pbt.checkpoint.files import read_newest
from tests.fence import record, resumed
from tests.fence.answers import answer

FRAMES = {"replayed": 2_500, "numbers": 4_000}


@pytest.fixture(autouse=True)
def _stored(tmp_path: Path) -> Iterator[None]:
    """Every test works in a folder of its own that holds the stored data."""
    record.unpack(tmp_path, record.STORED_2)
    with chdir(tmp_path):
        yield


def test_the_stored_checkpoints_hold_what_they_are_kept_for() -> None:
    for name in FRAMES:
        (manifest,) = Path("data/populations", name, "checkpoints").glob("*/manifest.json")
        assert json.loads(manifest.read_bytes())["format"] == 2
    replayed, _ = read_newest(Path("data/populations/replayed/checkpoints"))
    assert {"replay-m3", "replay-m5"} <= replayed.tensors.keys()
    assert replayed.state.controller.payoffs is not None
    assert any(member.copies for member in replayed.state.controller.members)
    numbers, _ = read_newest(Path("data/populations/numbers/checkpoints"))
    assert any(isinstance(one, float) for own in numbers.state.worker.games.history for one in own)
    for cut in (replayed, numbers):
        assert cut.state.worker.seats.table and cut.state.worker.waiting.table
        assert any(filler.pool.parked for filler in cut.state.worker.fillers)


@pytest.mark.parametrize("name", FRAMES)
def test_a_stored_training_goes_on_to_its_end(name: str, tmp_path: Path) -> None:
    """Twice, with equal bits."""
    facts = resumed.resume(name)
    report = answer(f"verify {name}")
    assert (report["ok"], report["differences"]) == (True, [])
    assert all(row["frames"] >= FRAMES[name] for row in answer(f"metrics {name}"))
    (tmp_path / "again").mkdir()
    record.unpack(tmp_path / "again", record.STORED_2)
    with chdir(tmp_path / "again"):
        assert resumed.resume(name) == facts


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_a_stored_training_goes_on_with_processes(name: str) -> None:
    there = "--set runtime.placement=central --set runtime.workers=2"
    assert answer(f"train --resume {name} {there}")["finished"]
    assert answer(f"verify {name}")["ok"]
