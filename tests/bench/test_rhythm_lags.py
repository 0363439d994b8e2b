"""The bench that counts the ages of rows in rounds."""

import json
from pathlib import Path

import pytest

from bench.memory import MemorySink
from bench.rhythm_lags import counted, main


def told(*ages: tuple[str, float, float, float]) -> MemorySink:
    sink = MemorySink()
    for member, least, most, versions in ages:
        values = {"round_lag_min": least, "round_lag_max": most, "lag_max": versions}
        sink.series(member, 0, values)
    return sink


def test_rows_one_round_old_keep_the_promise() -> None:
    found = counted(told(("m0", 0, 0, 0), ("m1", 1, 1, 1), ("m0", 1, 1, 1)), "hts")
    assert found["broken"] == 0 and found["updates"] == 3


@pytest.mark.parametrize(
    "ages", [("m0", 0, 1, 1), ("m0", 0, 0, 0), ("m0", 2, 2, 1), ("m0", 1, 1, 2)], ids=str
)
def test_any_other_age_breaks_it(ages: tuple[str, float, float, float]) -> None:
    assert counted(told(("m0", 1, 1, 1), ages), "hts")["broken"] == 1


def test_a_training_of_a_moment_keeps_it(tmp_path: Path) -> None:
    out = tmp_path / "lags.json"
    asked = ["--config", "cartpole_ppo", "--seconds", "2", "--json", str(out)]
    changes = ("--set", 'runtime.placement="serial"', "--set", "sampling.rollout_steps=16")
    assert main([*asked, *changes]) == 0
    stored = json.loads(out.read_text())
    assert stored["updates"] > 1 and stored["rows"] > 0 and not stored["broken"]
