"""Measures how long rounds take where games take unequally long, beside what the law says.

    python -m bench.stragglers --json stragglers.json

Sixteen games play in workers of their own, in `central`. Their steps sleep for times of a Gamma law
(bench/sleeping_game.py), so no core is needed. A rollout of alpha steps lasts as long as the
slowest game: Liu, Yeh and Schwing (2020, "High-throughput synchronous deep RL"), claim 1, here with
the exact integral in place of their approximation,

    T(alpha) = integral of 1 - F(x)^n over x from 0 + alpha c

where F is the distribution of a sum of alpha steps, n = 16 games and c what a step takes without
sleeping, which a run of steps of no time measures at each alpha.

  rounds    the time of a rollout in `hts` beside T(alpha), at each --alpha, for exponential steps
  speedups  the time of a round in `sync` over that in `hts`, where the learner sleeps for T(alpha)
            at alpha = --speedup-alpha, for each --shape; the law is the mean of T + L over the mean
            of the larger of the two, by simulation

Run it on a machine with nothing else to do.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.stats import gamma

from bench.memory import MemorySink
from bench.slow_learner import SECONDS
from bench.throughput import hardware
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.runtime.build import build_engine
from pbt.runtime.pacing import Rounds
from pbt.runtime.placements import resolve
from pbt.runtime.process_group import ProcessGroup
from pbt.snapshots import FileSnapshotStore

GAMES, SIMULATIONS = 16, 200_000
GAME = f"{Path(__file__).with_name('sleeping_game.py')}:make"


class Enough:
    """A ControlSource that stops a run after so many rollouts."""

    def __init__(self, rollouts: int) -> None:
        self.left = rollouts

    def stop_requested(self) -> bool:
        return self.left <= 0


def longest_s(alpha: int, mean_s: float, shape: float) -> float:
    """The mean of the longest of GAMES sums of alpha steps, by the exact integral."""
    law = gamma(shape * alpha, scale=mean_s / shape)
    end = float(law.ppf(1.0 - 1e-12))
    return float(quad(lambda x: 1.0 - law.cdf(x) ** GAMES, 0.0, end, limit=500)[0])


def config_of(sync: str, alpha: int, mean_s: float, shape: float) -> RunConfig:
    """GAMES games in workers of their own, which play rollouts of alpha steps."""
    steps = max(2, alpha)
    table = {
        "env": {"name": GAME, "options": {"mean_ms": 1000.0 * mean_s, "shape": shape}},
        "population": {"members": 1},
        "model": {"hidden": [16]},
        "sampling": {"environments": GAMES, "rollout_steps": steps},
        "learning": {"batch_steps": GAMES * steps, "minibatches": 1},
        "pbt": {"enabled": False},
        "evaluation": {"share": 0.0, "final_games": 0},
        "runtime": {
            "placement": "central",
            "workers": GAMES,
            "groups": 1,
            "sync": sync,
            "sync_steps": alpha,
        },
    }
    return resolve(config_from_table(table, "bench.stragglers"), cores=2, cuda=False)


def round_s(sync: str, alpha: int, mean_s: float, shape: float, rollouts: int) -> list[float]:
    """Seconds of each round of a training, but the first three."""
    config = config_of(sync, alpha, mean_s, shape)
    begun, control, next_ = list[float](), Enough(rollouts + 4), Rounds.next

    def timed(self: Rounds, *given: Any, **named: Any) -> Any:
        play = next_(self, *given, **named)
        if play is not None:
            begun.append(time.monotonic())
            control.left -= 1
        return play

    Rounds.next = timed  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        # What a spec measures of a game of a file would take as long as playing it several times.
        spec = registry.spec(config.env.name, allow_files=True, measured=(False, False))
        store = FileSnapshotStore(Path(folder))
        engine = build_engine(config, spec, MemorySink(), store, control)
        try:
            engine.controller.start()
            engine.run(lambda: None)
        finally:
            engine.close()
            Rounds.next = next_  # type: ignore[method-assign]
    return np.diff(begun)[3:].tolist()


def rounds(alpha: int, options: argparse.Namespace) -> dict[str, Any]:
    """Rollouts of alpha steps in `hts` against the law."""
    os.environ[SECONDS] = "0"
    mean_s, number = options.mean_ms / 1000.0, max(12, round(options.steps / alpha))
    without = statistics.median(round_s("hts", alpha, 0.0, 1.0, 20)) / alpha
    found = round_s("hts", alpha, mean_s, 1.0, number)
    law = longest_s(alpha, mean_s, 1.0) + alpha * without
    measured = statistics.fmean(found)
    error = statistics.stdev(found) / len(found) ** 0.5
    return {
        "alpha": alpha,
        "step_s": without,
        "law_s": law,
        "measured_s": measured,
        "error_s": error,
        "ratio": measured / law,
        "rounds": found,
    }


def speedup(shape: float, options: argparse.Namespace) -> dict[str, Any]:
    """`hts` against `sync` with a learner that takes as long as a rollout."""
    alpha, mean_s = options.speedup_alpha, options.mean_ms / 1000.0
    learning_s = longest_s(alpha, mean_s, shape)
    os.environ[SECONDS] = str(learning_s)
    number = max(12, round(options.steps / alpha / 2))
    found = {sync: round_s(sync, alpha, mean_s, shape, number) for sync in ("sync", "hts")}
    draws = np.random.default_rng(1).gamma(shape * alpha, mean_s / shape, (SIMULATIONS, GAMES))
    longest = draws.max(1)
    law = float((longest + learning_s).mean() / np.maximum(longest, learning_s).mean())
    measured = statistics.fmean(found["sync"]) / statistics.fmean(found["hts"])
    return {
        "shape": shape,
        "alpha": alpha,
        "learning_s": learning_s,
        "law": law,
        "measured": measured,
        "ratio": measured / law,
        "rounds": found,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alpha", type=int, nargs="*", default=[1, 4, 16, 64])
    parser.add_argument("--shape", type=float, nargs="*", default=[16.0, 4.0, 1.0, 0.5])
    parser.add_argument("--speedup-alpha", type=int, default=4)
    parser.add_argument("--mean-ms", type=float, default=40.0)
    parser.add_argument("--steps", type=int, default=500, help="of a game in one run")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    ProcessGroup.program = "bench.slow_learner"
    told: dict[str, Any] = {"hardware": hardware(), "mean_ms": options.mean_ms, "games": GAMES}
    told |= {"rounds": [], "speedups": []}
    for name, measure, values in (
        ("rounds", rounds, options.alpha),
        ("speedups", speedup, options.shape),
    ):
        for value in values:
            told[name].append(measure(value, options))
            shown = {key: one for key, one in told[name][-1].items() if key != "rounds"}
            print(name, json.dumps(shown), flush=True)
            options.json.write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
