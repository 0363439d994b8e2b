"""The test of equivalence of two rhythms: its areas, its interval and its runs."""

import json
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from bench import rhythm_learning
from bench.rhythm_learning import areas, compared, main, pairs_of, run


def test_an_area_is_the_mean_over_frames_of_the_return_of_their_game() -> None:
    rng = np.random.default_rng(1)
    games = [(int(frames), float(frames) / 3) for frames in rng.integers(1, 40, 500)]
    by_frame = [returns for frames, returns in games for _ in range(frames)]
    whole, tenths = areas(games)
    assert whole == pytest.approx(fmean(by_frame))
    assert len(tenths) == 10
    assert fmean(tenths) == pytest.approx(whole, rel=0.05)
    assert areas([(10, 1.0), (10, 3.0)])[1][0] == 1.0


def test_equal_rhythms_are_equivalent_and_others_are_not() -> None:
    rng = np.random.default_rng(2)
    sync = 100 + 10 * rng.standard_normal(20)
    near = sync + rng.standard_normal(20)
    found = compared(list(zip(sync, near, strict=True)), 0.1)
    assert found["equivalent"] and found["low"] <= found["difference"] <= found["high"]
    assert not compared(list(zip(sync, 0.85 * near, strict=True)), 0.1)["equivalent"]
    assert not compared(list(zip(sync, 1.15 * near, strict=True)), 0.1)["equivalent"]


def test_where_seeds_are_too_few_it_says_how_many_it_would_take() -> None:
    rng = np.random.default_rng(3)
    pairs = list(100 + 40 * rng.standard_normal((10, 2)))
    found = compared([tuple(pair) for pair in pairs], 0.1)
    assert not found["equivalent"] and found["seeds_for_margin"] > 10


def test_an_interval_holds_the_ratio_of_the_means_as_often_as_it_says() -> None:
    rng, held = np.random.default_rng(4), 0
    for _ in range(1_000):
        sync = 100 + 20 * rng.standard_normal(10)
        hts = 110 + 20 * rng.standard_normal(10)
        found = compared(list(zip(sync, hts, strict=True)), 0.1)
        held += found["low"] <= 0.1 <= found["high"]
    assert 870 <= held <= 930


def test_pairs_are_those_of_one_seed() -> None:
    runs = [
        {"game": "cartpole", "algorithm": "ppo", "rhythm": rhythm, "seed": seed, "area": area}
        for rhythm, seed, area in [("hts", 2, 4.0), ("sync", 1, 1.0), ("sync", 2, 2.0)]
    ]
    assert pairs_of(runs, "cartpole", "ppo") == [(2.0, 4.0)]
    assert pairs_of(runs, "cartpole", "a2c") == []


@pytest.mark.parametrize("algorithm", ["ppo", "a2c"])
def test_a_run_has_the_lag_of_its_rhythm(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = rhythm_learning.GAMES["cartpole"]._replace(frames=8_192)
    monkeypatch.setitem(rhythm_learning.GAMES, "cartpole", short)  # type: ignore[arg-type]
    found = {rhythm: run("cartpole", algorithm, rhythm, 1) for rhythm in ("sync", "hts")}
    assert found["sync"]["round_lags"] == [(0, 0)]
    assert found["hts"]["round_lags"] == [(0, 0), (1, 1)]
    assert found["sync"]["weights"] != found["hts"]["weights"]
    assert all(one["area"] > 5 and one["games"] > 100 for one in found.values())


def test_what_stands_in_the_file_is_not_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs.json"
    runs = [
        {"game": "cartpole", "algorithm": "ppo", "rhythm": rhythm, "seed": seed, "area": 1.0 * seed}
        for rhythm in ("sync", "hts")
        for seed in (1, 2, 3)
    ]
    out.write_text(json.dumps({"runs": runs, "compared": {}}))
    asked = ["--game", "cartpole", "--algorithm", "ppo", "--json", str(out), "--seeds", "3"]
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["seeds"] == 3
    assert json.loads(out.read_text())["runs"] == runs
