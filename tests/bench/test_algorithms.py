"""The trials of algorithms: when a seed has passed, and that a stopped one goes on where it was."""

import json
from pathlib import Path
from typing import Any

import pytest

import arena
import bench.algorithms
from bench.algorithms import (
    CONFIRMED,
    EVALUATED,
    NAME,
    TRIALS,
    RawFile,
    Trial,
    beside_peer,
    one_seed,
    overrides_of,
    summary,
    values_of,
)
from pbt.config.load import load_config

# A batch is 320 frames, so the last snapshot is at 1600, which is too late.
SMALL = Trial("cartpole_a2c", 1e9, 1500, seeds=2, needed=1, every=640, episodes=2)


@pytest.mark.parametrize("chosen", TRIALS, ids=" ".join)
def test_a_trial_is_of_a_shipped_config_of_its_game(chosen: tuple[str, str]) -> None:
    game, algorithm = chosen
    trial = TRIALS[chosen]
    config = load_config(trial.config)
    assert trial.config in (game, f"{game}_{algorithm}")
    assert game.replace("_", "") in config.env.name.lower()
    assert config.stop_at_frames == trial.frames
    assert values_of(trial)["learning"] == config.learning.model_dump(mode="json")


def test_a_seed_that_never_reaches_the_mark_tells_every_evaluation(tmp_path: Path) -> None:
    found = one_seed(SMALL, 1, tmp_path / "data")
    assert list(found["evaluations"]) == [640, 1280]
    assert (found["passed"], found["reached"], found["confirmed"]) == (False, None, None)
    # Another program was stopped between two snapshots, and this one goes on.
    frames = [0]
    arena.train(
        SMALL.config,
        NAME,
        data=tmp_path / "more",
        overrides=overrides_of(SMALL, 1),
        on_update=lambda update: frames.append(update.frames),
        stop=lambda: frames[-1] >= 960,
    )
    assert one_seed(SMALL, 1, tmp_path / "more") == found


@pytest.mark.parametrize(("fresh", "passed"), [(60.0, True), (49.0, False)])
def test_the_first_evaluation_at_the_mark_ends_it_and_fresh_episodes_decide(
    fresh: float, passed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def measured(trial: Trial, snapshot: Any, seed: int, data: Path) -> dict[str, float]:
        asked.append((snapshot.frames, seed))
        means = {(640, EVALUATED): 49.9, (1280, EVALUATED): 50.0, (1280, CONFIRMED): fresh}
        return {"return": means[asked[-1]]}

    monkeypatch.setattr(bench.algorithms, "mean_return", measured)
    found = one_seed(SMALL._replace(mark=50.0), 1, tmp_path / "data")
    assert asked == [(640, EVALUATED), (1280, EVALUATED), (1280, CONFIRMED)]
    assert (found["passed"], found["frames"]) == (passed, 1280)
    assert found["confirmed"]["return"] == fresh


def passed_at(frames: int) -> dict[str, Any]:
    return {"passed": True, "frames": frames, "reached": {}, "confirmed": {"return": 480.0}}


def test_a_trial_holds_once_all_seeds_ran_and_enough_passed() -> None:
    failed = {"passed": False, "frames": None, "reached": None}
    seeds = {"1": passed_at(10), "2": failed}
    found = summary(SMALL, seeds)
    assert (found["held"], found["passed"], found["reached"], found["seeds"]) == (True, 1, 1, 2)
    assert found["frames"] == {"median": 10, "most": 10}
    assert not summary(SMALL, {"1": passed_at(10)})["held"]
    assert not summary(SMALL, {"1": failed, "2": failed})["held"]


def test_the_file_is_continued_by_the_same_values_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.algorithms, "TRIALS", {("cartpole", "a2c"): SMALL})
    path = tmp_path / "raw.json"
    raw = RawFile(path, "cartpole", "a2c")
    raw.add(2, passed_at(20))
    # Another trial of the same file.
    path.write_text(json.dumps({**json.loads(path.read_text()), "pendulum": {"ppo": {}}}))
    raw.add(1, passed_at(10))
    written = json.loads(path.read_text())
    assert list(written["cartpole"]["a2c"]["seeds"]) == ["1", "2"] and "pendulum" in written
    changed = SMALL._replace(mark=2.0)
    monkeypatch.setattr(bench.algorithms, "TRIALS", {("cartpole", "a2c"): changed})
    with pytest.raises(SystemExit, match="measured with other values"):
        RawFile(path, "cartpole", "a2c").part()


def test_a_trial_without_a_mark_is_held_against_a_peers_interval() -> None:
    """Of 10, 20 and 30 the mean is 20, and Student's t of two degrees is 4.303."""
    trial = Trial("half_cheetah", None, 300_000, seeds=2)
    peer = {str(seed): {"return": 10.0 * seed} for seed in (1, 2, 3)}
    half = 4.303 * 10.0 / 3**0.5

    def beside(*returns: float) -> dict[str, Any]:
        seeds = {str(seed): {"confirmed": {"return": each}} for seed, each in enumerate(returns)}
        return beside_peer(trial, seeds, peer)

    found = beside(20.0 - half, 20.0 - half + 0.2)
    assert found["theirs"]["low"] == pytest.approx(20.0 - half, abs=0.01)
    assert found["held"] and not beside(20.0 - half, 20.0 - half - 0.2)["held"]
