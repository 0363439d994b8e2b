"""Measures how long rounds take where games take unequally long, beside what the law says.

    python -m bench.stragglers --json stragglers.json

Sixteen games play in workers of their own, in `central`. Their steps sleep for times of a Gamma law
(bench/sleeping_game.py), so no core is needed. A rollout of alpha steps lasts as long as the
slowest game: Liu, Yeh and Schwing (2020, "High-throughput synchronous deep RL"), claim 1, here with
the exact integral in place of their approximation,

    T(alpha) = integral of 1 - F(x)^n over x from 0 + alpha c

where F is the distribution of a sum of alpha steps, n = 16 games and c what a step takes without
sleeping, which a run of one game whose steps take no time measures at each alpha.

  rounds    the time of a rollout in `hts` beside T(alpha), at each --alpha, for exponential steps
  speedups  the time of a round in `sync` over that in `hts`, where the learner sleeps for T(alpha)
            at alpha = --speedup-alpha, for each --shape; the law is the mean of T + L over the mean
            of the larger of the two, by simulation. --times names a raw file of step times of a
            real game (bench/football_steps.py), from which steps are drawn as well, as long in the
            mean

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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import gamma

from bench.memory import MemorySink
from bench.sleeping_game import recorded
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

GAMES, SIMULATIONS = 16, 100_000
GAME = f"{Path(__file__).with_name('sleeping_game.py')}:make"


class Enough:
    """A ControlSource that stops a run after so many rollouts."""

    def __init__(self, rollouts: int) -> None:
        self.left = rollouts

    def stop_requested(self) -> bool:
        return self.left <= 0


class Times(NamedTuple):
    """How long steps sleep.

    mean_s    of a step
    shape     of their Gamma law
    recorded  a file of step times, in place of that law
    """

    mean_s: float
    shape: float = 1.0
    recorded: Path | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Of the game of bench/sleeping_game.py."""
        words = {"times": str(self.recorded.absolute())} if self.recorded else {}
        return {"mean_ms": 1000.0 * self.mean_s, "shape": self.shape, **words}

    def longest(self, alpha: int) -> NDArray[np.float64]:
        """The longest of GAMES sums of alpha steps, SIMULATIONS times."""
        rng, size = np.random.default_rng(1), (SIMULATIONS, GAMES)
        if self.recorded is None:
            return rng.gamma(self.shape * alpha, self.mean_s / self.shape, size).max(1)
        steps = recorded(self.recorded) * self.mean_s
        return sum(rng.choice(steps, size) for _ in range(alpha)).max(1)


def longest_s(alpha: int, mean_s: float) -> float:
    """The mean of the longest of GAMES sums of alpha exponential steps, by the exact integral."""
    law = gamma(alpha, scale=mean_s)
    end = float(law.ppf(1.0 - 1e-12))
    return float(quad(lambda x: 1.0 - law.cdf(x) ** GAMES, 0.0, end, limit=500)[0])


def config_of(sync: str, alpha: int, times: Times, games: int) -> RunConfig:
    """Games in workers of their own, which play rollouts of alpha steps."""
    steps = max(2, alpha)
    table = {
        "env": {"name": GAME, "options": times.options},
        "population": {"members": 1},
        "model": {"hidden": [16]},
        "sampling": {"environments": games, "rollout_steps": steps},
        "learning": {"batch_steps": games * steps, "minibatches": 1, "epochs": 1},
        "pbt": {"enabled": False},
        "evaluation": {"share": 0.0, "final_games": 0},
        "runtime": {
            "placement": "central",
            "workers": games,
            "groups": 1,
            "sync": sync,
            "sync_steps": alpha,
        },
    }
    return resolve(config_from_table(table, "bench.stragglers"), cores=2, cuda=False)


def round_s(sync: str, alpha: int, times: Times, rollouts: int, games: int = GAMES) -> list[float]:
    """Seconds of each round of a training, but the first three."""
    config = config_of(sync, alpha, times, games)
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
    without = statistics.median(round_s("hts", alpha, Times(0.0), 20, 1)) / alpha
    found = round_s("hts", alpha, Times(mean_s), number)
    law = longest_s(alpha, mean_s) + alpha * without
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


def speedup(times: Times, options: argparse.Namespace) -> dict[str, Any]:
    """`hts` against `sync` with a learner that takes as long as a rollout."""
    alpha = options.speedup_alpha
    longest = times.longest(alpha)
    learning_s = float(longest.mean())
    os.environ[SECONDS] = str(learning_s)
    number = max(12, round(options.steps / alpha / 2))
    found = {sync: round_s(sync, alpha, times, number) for sync in ("sync", "hts")}
    law = 2.0 * learning_s / float(np.maximum(longest, learning_s).mean())
    measured = statistics.fmean(found["sync"]) / statistics.fmean(found["hts"])
    return {
        "times": times.recorded.name if times.recorded else f"Gamma, shape {times.shape:g}",
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
    parser.add_argument("--times", type=Path, nargs="*", default=[])
    parser.add_argument("--speedup-alpha", type=int, default=4)
    parser.add_argument("--mean-ms", type=float, default=40.0)
    parser.add_argument("--steps", type=int, default=500, help="of a game in one run")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    ProcessGroup.program = "bench.slow_learner"
    told: dict[str, Any] = {"hardware": hardware(), "mean_ms": options.mean_ms, "games": GAMES}
    told |= {"rounds": [], "speedups": []}
    mean_s = options.mean_ms / 1000.0
    laws = [Times(mean_s, shape) for shape in options.shape]
    laws += [Times(mean_s, recorded=path) for path in options.times]
    for name, measure, values in (("rounds", rounds, options.alpha), ("speedups", speedup, laws)):
        for value in values:
            told[name].append(measure(value, options))
            shown = {key: one for key, one in told[name][-1].items() if key != "rounds"}
            print(name, json.dumps(shown), flush=True)
            options.json.write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
