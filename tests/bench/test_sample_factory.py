"""What is read of Sample Factory's words and summaries, and what is left alone when it is ended."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter

from bench import sample_factory
from bench.sample_factory import (
    LOG,
    UPDATE_TAG,
    end_all,
    lags,
    reports,
    setting_options,
    updates_of,
    updates_until,
)
from tests.e2e.faults import processes

# As version 2.1 wrote them, with the colours of its log.
RECORDED = """\
\x1b[36m[2026-11-23 01:00:46,826][03463] Fps is (10 sec: 0.0, 60 sec: 0.0, 300 sec: 0.0). Total num frames: 0. Throughput: 0: 36.2. Samples: 264. \
Policy #0 lag: (min: -1.0, avg: -1.0, max: -1.0)\x1b[0m
\x1b[36m[2026-11-23 01:00:51,828][03463] Fps is (10 sec: 204.7, 60 sec: 166.5, 300 sec: 166.5). Total num frames: 2048. Throughput: 0: 24.9. \
Samples: 306. Policy #0 lag: (min: 0.0, avg: 0.0, max: 0.0)\x1b[0m
\x1b[36m[2026-11-23 01:00:51,829][03463] Avg episode reward: [(0, '3.980')]\x1b[0m
\x1b[36m[2026-11-23 01:00:56,821][03463] Fps is (10 sec: 307.3, 60 sec: 177.7, 300 sec: 177.7). Total num frames: 3072. Throughput: 0: 50.2. \
Samples: 868. Policy #0 lag: (min: 0.0, avg: 0.5, max: 3.0)\x1b[0m
"""  # noqa: E501
FIRST = (
    "\x1b[36m[2026-11-23 01:00:39,530][03463] Fps is (10 sec: nan, 60 sec: nan, 300 sec: nan). "
    "Total num frames: 0. Throughput: 0: nan. "
    "Samples: 0. Policy #0 lag: (min: -1.0, avg: -1.0, max: -1.0)\x1b[0m\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / LOG
    path.write_text(FIRST + RECORDED, encoding="utf-8")
    return path


def test_its_reports_are_found_in_its_log(log: Path) -> None:
    assert [int(report["frames"]) for report in reports(log)] == [0, 0, 2048, 3072]
    assert [(report["min"], report["mean"], report["max"]) for report in reports(log)][-1] == (
        "0.0",
        "0.5",
        "3.0",
    )


def test_lags_are_those_of_reports_that_tell_of_an_update(log: Path) -> None:
    found = reports(log)
    assert lags(found) == {"lag_mean": 0.25, "lag_max": 3.0}
    assert lags(found[:2]) == lags([]) == {"lag_mean": None, "lag_max": None}


def test_a_setting_in_its_own_words() -> None:
    assert setting_options("2x16") == ["--num_workers=2", "--num_envs_per_worker=16"]
    plain = ["--normalize_input=False", "--normalize_returns=False"]
    assert setting_options("4x8-plain-batched") == [
        "--num_workers=4",
        "--num_envs_per_worker=8",
        *plain,
        "--batched_sampling=True",
    ]


@pytest.mark.parametrize(
    "setting", ["", "2", "2x", "0x16", "2x16-", "2x16-quick", "2x16 plain", "x16"]
)
def test_another_word_is_no_setting(setting: str) -> None:
    with pytest.raises(
        argparse.ArgumentTypeError,
        match="expected WORKERSxENVIRONMENTS and any of -plain, -batched, -sync, -serial",
    ):
        setting_options(setting)


def written(folder: Path, policy: int, *updates: tuple[float, int]) -> None:
    with SummaryWriter(folder / "run" / ".summary" / str(policy)) as writer:
        for at, frames in updates:
            writer.add_scalar("train/lr", 1e-4, frames, at)
            writer.add_scalar(UPDATE_TAG, 0.5, frames, at)
            writer.add_scalar("perf/_fps", 400.0, frames, at + 0.5)


def test_updates_are_those_of_its_summaries(tmp_path: Path) -> None:
    assert updates_of(tmp_path) == []
    written(tmp_path, 0, (100.0, 8_192), (102.5, 16_384))
    written(tmp_path, 1, (101.0, 4_096))
    assert updates_of(tmp_path) == [
        {"member": "0", "t": 100.0, "frames": 8_192},
        {"member": "0", "t": 102.5, "frames": 16_384},
        {"member": "1", "t": 101.0, "frames": 4_096},
    ]


def test_updates_of_a_time_are_known_when_every_policy_has_told_of_a_later_one(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, 0, (100.0, 10), (102.0, 20), (104.0, 30), (106.0, 40))
    written(tmp_path, 1, (101.0, 10), (103.0, 20))
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        monkeypatch.setattr(sample_factory, "PATIENCE_S", 0.0)
        with pytest.raises(SystemExit, match="no report of Sample Factory"):
            updates_until(tmp_path, 101.0, 104.0, process)
        written(tmp_path, 1, (105.0, 30))
        found = updates_until(tmp_path, 101.0, 104.0, process)
    finally:
        process.communicate(b"\n")
    assert [(point["member"], point["t"]) for point in found] == [
        ("0", 102.0),
        ("0", 104.0),
        ("1", 101.0),
        ("1", 103.0),
    ]


def test_names_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they are called: an error here would hide the one for which all is ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    own = tmp_path / f"torch_{process.pid}_123_0"
    others = [
        tmp_path / name
        for name in ("torch_", "torch_shm_1", "torch_1x_2", "torch_1_2", f"torch_{process.pid}")
    ]
    for path in (own, *others):
        path.touch()
    monkeypatch.setattr(processes, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(sample_factory, "remove_strays", lambda young_s: None)
    end_all("a mark of no process", process)
    assert not own.exists() and all(path.exists() for path in others)
