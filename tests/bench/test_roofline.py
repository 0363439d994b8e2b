"""Which of its measurements the reference takes, how many cores it counts, and that its variants
compute and play the same.
"""

import argparse
import os
from pathlib import Path

import pytest
import torch

from bench import roofline
from bench.roofline import chosen, cpu_quota, least, report, usable_cores
from bench.roofline_parts import CALM, HEIGHT, SIDE, STATE, WIDTH, calm_engines, make_network

TIMES = {
    "simulate 1 engines": 4.0,
    "simulate 32 engines": 9.0,
    "simulate 64 engines": 12.0,
    "simulate calm 1 engines": 5.0,
    "simulate calm 32 engines": 8.0,
    "simulate calm 64 engines": 7.0,
    "infer float32 32 rows": 3.0,
    "infer float32 64 rows": 4.0,
    "infer bfloat16 blocks 32 rows": 2.0,
    "infer bfloat16 blocks 64 rows": 3.5,
    "train float32 8 slots": 10.0,
    "train bfloat16 blocks 16 slots": 6.0,
}


def test_the_least_of_those_so_named() -> None:
    assert least(TIMES, "train") == "train bfloat16 blocks 16 slots"
    assert least(TIMES, "infer", " 64 rows") == "infer bfloat16 blocks 64 rows"
    assert least(TIMES, "simulate", " 1 engines") == "simulate 1 engines"


def test_as_many_engines_are_stepped_as_rows_are_inferred() -> None:
    """8 + 2 with 32 of each, against 7 + 3.5 with 64; hot: 4 and the fastest of all."""
    acting, hot, train = chosen(TIMES)
    assert acting == ("simulate calm 32 engines", "infer bfloat16 blocks 32 rows")
    assert hot == ("simulate 1 engines", "infer bfloat16 blocks 32 rows")
    assert train == "train bfloat16 blocks 16 slots"


def test_the_reference_of_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "usable_cores", lambda: [0, 1])
    # Microseconds; one core was slower, the other faster.
    answers = [
        {name: [factor * time * 1e-6] for name, time in TIMES.items()} for factor in (0.5, 1.5)
    ]
    monkeypatch.setattr(roofline, "answers_of", lambda cores, options: answers)
    found = report(argparse.Namespace(scenario="basic", frame_skip=4))
    assert found["microseconds_per_step"] == TIMES
    assert found["pure_simulation_frames_per_s"] == 1_000_000
    assert found["reference_frames_per_s"] == 500_000
    assert found["hot_reference_frames_per_s"] == round(8e6 / 12)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "250000 100000"}, 2.5),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_the_cgroup(
    files: dict[str, str], cores: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n", encoding="ascii")
    monkeypatch.setattr(roofline, "CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    assert cpu_quota() == cores
    assert usable_cores() == list(range(4 if cores is None else int(cores)))


def test_a_network_that_reads_blocks_computes_the_same() -> None:
    plain, blocks = make_network(8, False), make_network(8, True)
    weights = plain.state_dict()
    to, channels, height, width = weights["convs.0.weight"].shape
    cut = weights["convs.0.weight"].view(to, channels, height // SIDE, SIDE, width // SIDE, SIDE)
    weights["convs.0.weight"] = cut.permute(0, 3, 5, 1, 2, 4).reshape(
        to, SIDE * SIDE * channels, height // SIDE, width // SIDE
    )
    blocks.load_state_dict(weights)
    images = torch.randint(0, 256, (2, 3, HEIGHT, WIDTH, 3), dtype=torch.uint8)
    state, keep = torch.randn(3, STATE), torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0, 0.0]).view(2, 3, 1)
    with torch.inference_mode():
        torch.testing.assert_close(
            blocks(images, state, keep), plain(images, state, keep), rtol=1e-5, atol=1e-5
        )


def test_engines_are_calm_only_where_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    name, value = CALM
    monkeypatch.delenv(name, raising=False)
    before = os.sched_getscheduler(0)
    with calm_engines():
        assert os.environ[name] == value and os.sched_getscheduler(0) in (os.SCHED_BATCH, before)
    assert name not in os.environ and os.sched_getscheduler(0) == before
