"""The test of equivalence of two rhythms: its areas, its interval and its runs."""

import json
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from bench import rhythm_learning
from bench.rhythm_learning import (
    areas,
    compared,
    digest_of,
    learned,
    main,
    pairs_of,
    run,
    seeds_needed,
)


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


def test_the_seeds_that_it_takes_are_enough_four_times_of_five() -> None:
    rng, found, spread = np.random.default_rng(3), 0, 0.25
    seeds = seeds_needed(spread, 0.1)
    for _ in range(400):
        pairs = 100 + 100 * spread / 2**0.5 * rng.standard_normal((seeds, 2))
        found += compared([(sync, hts) for sync, hts in pairs], 0.1)["equivalent"]
    assert 290 <= found <= 350
    assert compared([(100.0, 60.0), (100.0, 150.0), (90.0, 80.0)], 0.1)["seeds_needed"] > 20


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
        {"rhythm": rhythm, "seed": seed, "area": area, "tenths": [1.0, area]}
        for rhythm, seed, area in [
            ("hts", 2, 4.0),
            ("sync", 1, 1.0),
            ("sync", 2, 3.0),
            ("hts", 1, 5.0),
        ]
    ]
    assert pairs_of(runs) == [(1.0, 5.0), (3.0, 4.0)]
    assert learned(runs)
    assert not learned([{**one, "tenths": [2.0, 3.0]} for one in runs])


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
        {
            **dict(zip(("game", "algorithm", "rhythm", "seed"), key, strict=True)),
            "config": digest_of(*key),
            "area": 1.0 * key[3],
            "tenths": [1.0, 3.0],
        }
        for key in [("cartpole", "ppo", one, seed) for one in ("sync", "hts") for seed in (1, 2, 3)]
    ]
    out.write_text(json.dumps({"runs": runs, "compared": {}}))
    asked = ["--game", "cartpole", "--algorithm", "ppo", "--json", str(out), "--seeds"]
    assert main([*asked, "3"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["seeds"] == 3
    assert json.loads(out.read_text())["runs"] == runs
    assert main([*asked, "2"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["seeds"] == 2
    runs[0]["config"] = "another"
    out.write_text(json.dumps({"runs": runs, "compared": {}}))
    with pytest.raises(SystemExit, match="seed 1, was made with another configuration"):
        main([*asked, "3"])
