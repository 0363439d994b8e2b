"""Two trees against each other: the interval of the ratio, when it is narrow, and going on."""

import json
import math
import random
from pathlib import Path

import pytest

from bench.against import Turns, earlier, interval, narrow, report


def test_the_interval_covers_the_ratio_as_often_as_it_says() -> None:
    rng, covered = random.Random(1), 0
    for _ in range(1000):
        ratios = [math.exp(rng.gauss(math.log(0.97), 0.05)) for _ in range(8)]
        _, low, high = interval(ratios)
        covered += low <= 0.97 <= high
    assert 930 <= covered <= 970


def test_it_is_narrow_only_with_pairs_enough() -> None:
    assert not narrow([1.0, 1.0, 1.0, 1.0], 0.02)
    assert narrow([1.0, 1.001, 0.999, 1.0, 1.002], 0.02)
    assert not narrow([1.0, 1.1, 0.9, 1.05, 0.95], 0.02)


def test_a_call_goes_on_from_its_file_and_refuses_another_plan(tmp_path: Path) -> None:
    path, plan = tmp_path / "against.json", {"config": "demo", "commit": "abc"}
    pairs = [{"this": 2.0, "other": 1.0, "ratio": 2.0}, {"this": 1.0, "other": 2.0, "ratio": 0.5}]
    assert earlier(path, plan) == [] and report(plan, pairs)["ratio"]["mean"] == pytest.approx(1.0)
    path.write_text(json.dumps(report(plan, pairs)))
    assert earlier(path, plan) == pairs
    with pytest.raises(SystemExit, match="another plan"):
        earlier(path, {**plan, "commit": "abd"})


def test_time_passes_only_in_turns() -> None:
    turns = Turns()
    turns.add(10.0, 11.0)
    turns.add(20.0, 22.0)
    assert [turns.ran_s(at) for at in (9.0, 10.5, 15.0, 21.0, 30.0)] == [0.0, 0.5, 1.0, 2.0, 3.0]
