"""Records how long each step of Google's football takes on this machine, with random actions.

    pip install envpool
    python -m bench.football_steps --game academy_3_vs_1_with_keeper --json football_steps.json

A step after the end of a game makes the next one, and is counted as a step like any other. Times
are CPU milliseconds of the process. `bench.stragglers --times` plays them back.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.throughput import hardware
from pbt.files import write_whole

ACTIONS = 19


def steps_ms(game: str, steps: int) -> list[float]:
    """CPU milliseconds of so many steps of one game."""
    import envpool

    env = envpool.make(
        f"gfootball/{game}-v1", env_type="gymnasium", num_envs=1, num_threads=1, seed=0
    )
    env.reset()
    rng, found = np.random.default_rng(0), list[float]()
    for _ in range(steps):
        action, began = rng.integers(0, ACTIONS, 1).astype(np.int32), time.process_time()
        env.step(action)
        found.append(round(1000.0 * (time.process_time() - began), 4))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="academy_3_vs_1_with_keeper")
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    found = steps_ms(options.game, options.steps)
    mean = statistics.fmean(found)
    told = {"hardware": hardware(), "game": options.game, "mean_ms": mean}
    told |= {"variation": statistics.stdev(found) / mean, "steps_ms": found}
    write_whole(options.json, json.dumps(told) + "\n")
    print(f"{options.game}: {mean:.2f} ms a step, coefficient of variation {told['variation']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
