"""A whole training whose servers and learners are on the device, from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

CONFIG = """
stop_at_frames = 20_000
[env]
name = "{env}"
[population]
members = 2
[sampling]
environments = 32
rollout_steps = 8
[model]
hidden = [32]
core = "gru"
gru_size = 16
[learning]
batch_steps = 512
minibatches = 2
[pbt]
period_frames = 5000
warmup_frames = 5000
min_games = 5
[evaluation]
final_games = 4
[runtime]
placement = "central"
workers = 2
learners = {learners}
inference_device = "cuda:0"
learner_device = "cuda:0"
"""


@pytest.mark.gpu
@pytest.mark.parametrize(("env", "learners"), [("tictactoe", 1), ("cartpole", 0)])
def test_a_population_is_trained_on_the_device(
    cuda: torch.device, tmp_path: Path, env: str, learners: int
) -> None:
    (tmp_path / "small.toml").write_text(CONFIG.format(env=env, learners=learners))

    def arena(*arguments: str) -> str:
        command = [sys.executable, "-P", "-m", "arena", *arguments, "--data", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    arena("train", "small.toml")
    status = json.loads(arena("status", "small", "--json"))
    assert status["placement"] == "central" and not status["running"]
    assert [member["frames"] >= 20_000 for member in status["members"]] == [True, True]
