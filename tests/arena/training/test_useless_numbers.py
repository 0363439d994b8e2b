"""`arena env check` and `arena train` agree on the numbers of a game, and name where they are."""

import json
import re
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import population_paths
from arena.data.status import read_status

GAME = '''
import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Count(gym.Env):
    """Eight steps; `wrong` replaces what is seen at step 5, or paid, after so many games."""

    def __init__(self, wrong="none", after=0):
        self.wrong, self.left, self.action_space = wrong, after, spaces.Discrete(2)
        wide = spaces.Box(-1e300, 1e300, (2,), np.float64)
        whole = spaces.Box(-2**62, 2**62, (2,), np.int64)
        plain = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        near = spaces.Box(0, 1, (2,), np.float32)
        self.observation_space = {"1e299": wide, "2**40": whole, "outside": near}.get(wrong, plain)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left, self.t, self.x = self.left - 1, 0, int(self.np_random.integers(2))
        return self.seen(), {}

    def seen(self):
        seen = np.array([self.x, self.t])
        if self.t == 5 and self.left < 0 and self.wrong in ("inf", "nan", "1e37", "1e299", "2**40"):
            seen = np.array([self.x, eval(self.wrong, {"inf": np.inf, "nan": np.nan})])
        return seen.astype(np.float64 if self.wrong == "outside" else self.observation_space.dtype)

    def step(self, action):
        reward = 1e30 if self.wrong == "reward" and self.t == 4 else float(action == self.x)
        reward *= 1e9 if self.wrong == "rich" else 1
        self.t, self.x = self.t + 1, int(self.np_random.integers(2))
        return self.seen(), reward, self.t == 8, False, {}


def make(**options):
    return Count(**options)
'''

CONFIG = """
seed = 3
stop_at_frames = 1024
env = { name = "./count.py:make" }
population = { members = 1 }
model = { hidden = [8] }
sampling = { environments = 8, rollout_steps = 8 }
learning = { batch_steps = 128, epochs = 1, minibatches = 1 }
pbt = { enabled = false }
snapshots = { every_frames = 1024 }
evaluation = { final_games = 4 }
runtime = { placement = "serial" }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARENA_DATA", str(tmp_path / "data"))
    (tmp_path / "count.py").write_text(GAME)
    (tmp_path / "count.toml").write_text(CONFIG)
    return tmp_path


def train(*words: str) -> int:
    return run(["train", "count.toml", *(part for word in words for part in ("--set", word))])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("inf", "observation leaf observation is inf at [1]; expected finite numbers"),
        ("nan", "observation leaf observation is nan at [1]; expected finite numbers"),
        ("1e37", "observation leaf observation is 9.99"),
        ("1e299", "observation leaf observation is 1e+299 at [1]; expected finite numbers"),
        ("2**40", "observation leaf observation is 1099511627776 at [1]; expected finite"),
        ("reward", "reward is 1e+30; expected finite numbers from -1e+09 to 1e+09"),
    ],
)
def test_what_the_check_refuses_a_training_refuses_in_the_same_words_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], wrong: str, words: str
) -> None:
    named = f"seed 0, step 5: seat 0 (player): {words}"
    assert run(["env", "check", "./count.py:make", "--set", f"wrong='{wrong}'"]) == 1
    assert named in capsys.readouterr().out
    assert train(f"env.options.wrong='{wrong}'") == 1
    assert named in capsys.readouterr().err
    assert not population_paths(folder / "data", "count").config.exists()


def test_what_the_check_warns_of_a_training_warns_of_and_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warnings = (
        "warning: seed 0, step 0: seat 0 (player): observation leaf observation comes as float64 "
        "and is cast to float32",
        "seat 0 (player): observation leaf observation has values from",
    )
    assert run(["env", "check", "./count.py:make", "--set", "wrong='outside'"]) == 0
    told = capsys.readouterr().out
    assert all(told.count(warning) == 1 for warning in warnings), told
    assert train("env.options.wrong='outside'") == 0
    told = capsys.readouterr().err
    assert all(told.count(warning) == 1 for warning in warnings), told


@pytest.mark.parametrize("placement", ["serial", "inline"])
def test_a_number_that_comes_late_ends_the_training_and_says_where_it_came_from(
    folder: Path, capsys: pytest.CaptureFixture[str], placement: str
) -> None:
    late = ["env.options={ wrong = 'inf', after = 12 }", "runtime.workers=1"]
    assert train(*late, f"runtime.placement='{placement}'") == 1
    told = capsys.readouterr().err
    where = r"error: game \d+ at table \d+ \(seed \d+\), step 5, seat 0 \(player\): "
    assert re.search(where + r"observation leaf observation is inf at \[1\]; .*clip or", told), told
    status = read_status(population_paths(folder / "data", "count").status)
    assert status is not None and status.ended.startswith("failed: ")


@pytest.mark.parametrize(
    "word",
    [
        "learning.vtrace_rho=1e300",
        "learning.ratio_clip=1e308",
        "learning.reward_scale=1e300",
        "learning.adam_eps=1e-50",
        "learning.learning_rate=1e-400",
    ],
)
def test_a_config_that_float32_does_not_hold_is_refused_before_anything_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert train(word) == 2
    assert f"--set {word.partition('=')[0]} = " in capsys.readouterr().err
    assert not (folder / "data").exists()


def test_refused_updates_are_counted_apart_and_warned_of_everywhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The squares of scaled rewards of 1e21 are not finite."""
    warning = (
        "WARNING: m0: 8 of 8 updates were refused, because a loss or a gradient was not finite"
    )
    assert train(*BIG[1::2]) == 1
    told = capsys.readouterr().err
    assert told.count(f"\n{warning}") == 1, told
    assert "error: nothing was learned by m0 (8 updates): every update was refused" in told
    assert "updates: 0 taken, 8 refused" in told
    assert run(["status", "count"]) == 0
    told = capsys.readouterr().out
    assert warning in told and "updates: 0 taken, 8 refused" in told
    assert run(["status", "count", "--json"]) == 0
    (member,) = json.loads(capsys.readouterr().out)["members"]
    assert (member["updates"], member["refused_updates"]) == (0, 8)
    assert train_json(capsys, "--name", "sound") == (8, 0)
    assert train_json(capsys, "--name", "big", *BIG) == (0, 8)


BIG = (
    *("--set", "learning.reward_scale=1e12", "--set", "learning.normalize_returns=false"),
    *("--set", "env.options={ wrong = 'rich' }"),
)


def train_json(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, int]:
    code = run(["train", "count.toml", "--json", *more])
    (member,) = json.loads(capsys.readouterr().out)["members"]
    assert code == (0 if member["updates"] else 1)
    return member["updates"], member["refused_updates"]


def test_a_training_whose_members_all_failed_has_not_finished(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten updates in a row without a gradient, again and again, are the end of a member."""
    words = [*BIG[1::2], "stop_at_frames=100000", "runtime.workers=1"]
    assert train(*words, "runtime.placement='inline'", "runtime.max_restarts=1") == 1
    told = capsys.readouterr().err
    assert (
        "every member failed; m0 failed, and learns no more: EngineError: learner of m0: " in told
    )
    assert "lower learning.reward_scale" in told and "finished. Next" not in told
    status = read_status(population_paths(folder / "data", "count").status)
    assert status is not None and status.ended.startswith("failed: every member failed; ")
