"""Trains Stable-Baselines3's PPO with its defaults, to hold ours against it.

    python3 -m venv sb3 && sb3/bin/pip install stable_baselines3 'gymnasium[box2d,mujoco]'
    sb3/bin/python bench/sb3_ppo.py --game lunarlander --seeds 5 --frames 300_000 \\
        --json bench/results/defaults_sb3.json

It runs in an environment of its own and imports nothing of this project. `PPO("MlpPolicy", id)` is
all that is set: one environment, rollouts of 2 048 steps, 10 passes of minibatches of 64, learning
rate 3e-4. Then the policy plays `--episodes` with sampled actions, on seeds from 1 on: as many as
`bench.defaults` or `bench.algorithms` has for the game. A seed that the file already has is not run
again.
"""

import argparse
import json
import sys
import time
from importlib.metadata import distributions, version
from pathlib import Path
from statistics import fmean
from typing import Any

import gymnasium
import torch
from stable_baselines3 import PPO

IDS = {
    "cartpole": "CartPole-v1",
    "acrobot": "Acrobot-v1",
    "lunarlander": "LunarLander-v3",
    "half_cheetah": "HalfCheetah-v5",
}


def returns_of(model: Any, game_id: str, episodes: int) -> list[float]:
    """The return of each episode, with sampled actions."""
    game, found = gymnasium.make(game_id), []
    for seed in range(1, episodes + 1):
        observation, _ = game.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            action, _ = model.predict(observation, deterministic=False)
            observation, reward, terminated, truncated, _ = game.step(action)
            total, over = total + float(reward), terminated or truncated
        found.append(total)
    return found


def one_seed(game: str, seed: int, frames: int, episodes: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    began_s = time.monotonic()
    model = PPO("MlpPolicy", IDS[game], seed=seed, device="cpu").learn(frames)
    seconds = time.monotonic() - began_s
    returns = returns_of(model, IDS[game], episodes)
    return {
        "return": fmean(returns),
        "least": min(returns),
        "episodes": episodes,
        "train_s": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", choices=IDS, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=300_000)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--json", type=Path, required=True, help="raw file; it is continued")
    options = parser.parse_args()
    raw: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
    packages = "stable_baselines3", "torch", "gymnasium", "mujoco"
    installed = {one.metadata["Name"].lower().replace("-", "_") for one in distributions()}
    raw["versions"] = {name: version(name) for name in packages if name in installed}
    game = raw.setdefault(options.game, {"frames": options.frames, "seeds": {}})
    for seed in range(1, options.seeds + 1):
        if str(seed) not in game["seeds"]:
            game["seeds"][str(seed)] = one_seed(
                options.game, seed, options.frames, options.episodes
            )
            game["mean"] = fmean(run["return"] for run in game["seeds"].values())
            options.json.write_text(json.dumps(raw, indent=1) + "\n")
            print(f"{options.game} {seed}: {game['seeds'][str(seed)]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
