"""Measures how old rows are in `async` where batches wait for their learner, beside the law.

    python -m bench.queue_lags --json queue_lags.json

One game fills slots of two rows, each of which is a batch: its first step sleeps for an exponential
time and its second takes none, so batches arrive at random moments, at a rate of lambda. A learner
sleeps for an exponential time at each update, at a rate of mu. The second row of a batch is acted
when the batch arrives, so the versions of the weights between the two, its lag, are the batches
that the arriving one finds in front of it. For a queue without an end that is the M/M/1 queue,
rho / (1 - rho) in the mean at rho = lambda / mu (Liu, Yeh and Schwing 2020, "High-throughput
synchronous deep RL", claim 2). Here queues have an end: a worker pauses while `waiting_batches`
stand before the learner, which has one in training and one that is gathered meanwhile. So there are
K = waiting_batches + 2 places, and a worker that is told to pause ends the step that it is in.
Of j batches in the system, or K and one that the worker holds back, the chances are as rho^j, and

    a batch that comes when there are j < K finds j, and one that was held back finds K - 1.

For each --rho the mean lag is told with an interval, from means of blocks of 50 updates, and the
law for the load that there was: the mean of all updates over the mean of the game's sleeps and of
what a batch takes beside them, which a run with a learner that does not sleep shows. All intervals
hold at once with 95 %, and none may be wider than one lag. Run it on a machine with nothing else to
do.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import t as student

from bench.memory import MemorySink
from bench.sleeping_game import NOTES as SLEEPS
from bench.slow_learner import EXPONENTIAL, NOTES, SECONDS
from bench.stragglers import GAME
from bench.throughput import hardware
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.files import write_whole
from pbt.runtime.build import build_engine
from pbt.runtime.placements import resolve
from pbt.runtime.process_group import ProcessGroup
from pbt.snapshots import FileSnapshotStore

SKIPPED, BLOCK, MOST_HALF = 50, 50, 0.5


class Updates:
    """A ControlSource that stops a run after so many updates."""

    def __init__(self, sink: MemorySink, updates: int) -> None:
        self._sink, self._updates = sink, updates

    def stop_requested(self) -> bool:
        return len(self._sink.points) >= self._updates


def places(config: RunConfig) -> int:
    """Batches that may be with or before a learner."""
    return config.runtime.waiting_batches + 2


def law(rho: float, places: int) -> float:
    """The mean lag that this module's description gives."""
    chances = [rho**count for count in range(places + 1)]
    found = [min(count, places - 1) for count in range(places + 1)]
    return sum(map(float.__mul__, chances, map(float, found))) / sum(chances)


def config_of(mean_s: float, waiting: int, seed: int = 1) -> RunConfig:
    options = {"mean_ms": 1000.0 * mean_s, "shape": 1.0, "every": 2}
    table = {
        "seed": seed,
        "env": {"name": GAME, "options": options},
        "population": {"members": 1},
        "model": {"hidden": [16]},
        "sampling": {"environments": 1, "rollout_steps": 2},
        "learning": {"batch_steps": 2, "minibatches": 1, "epochs": 1},
        "pbt": {"enabled": False},
        "evaluation": {"share": 0.0, "final_games": 0},
        "runtime": {
            "placement": "central",
            "workers": 1,
            "groups": 1,
            "waiting_batches": waiting,
        },
    }
    return resolve(config_from_table(table, "bench.queue_lags"), cores=2, cuda=False)


class Notes(NamedTuple):
    """Of each update: the lag of its newest row, its seconds, the moment of its end; and sleeps."""

    lags: list[int]
    updates_s: list[float]
    ends_s: list[float]
    sleeps_s: list[float]


def noted(config: RunConfig, updates: int, update_s: float) -> Notes:
    """Train until there were so many updates, which take update_s in the mean."""
    os.environ[SECONDS], os.environ[EXPONENTIAL] = str(update_s), "1"
    spec = registry.spec(config.env.name, allow_files=True, measured=(False, False))
    with tempfile.TemporaryDirectory() as folder:
        learner, game = Path(folder) / "learner", Path(folder) / "game"
        os.environ[NOTES], os.environ[SLEEPS] = str(learner), str(game)
        store, sink = FileSnapshotStore(Path(folder)), MemorySink()
        engine = build_engine(config, spec, sink, store, Updates(sink, updates + SKIPPED))
        try:
            engine.controller.start()
            engine.run(lambda: None)
        finally:
            engine.close()
        lines = learner.read_text().splitlines()[SKIPPED:]
        sleeps = [float(line) for line in game.read_text().split()] if game.exists() else [0.0]
    lags, seconds, ends_s = zip(*(line.split() for line in lines), strict=True)
    return Notes([*map(int, lags)], [*map(float, seconds)], [*map(float, ends_s)], sleeps)


def measured(rho: float, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """The mean lag at a load, with its interval, and its law."""
    update_s, level = options.mean_ms / 1000.0, 1.0 - 0.05 / len(options.rho)
    config = config_of(update_s / rho, options.waiting, seed)
    alone = noted(config, options.updates // 8, 0.0)
    batch_s = (alone.ends_s[-1] - alone.ends_s[0]) / (len(alone.ends_s) - 1)
    own_s = batch_s - statistics.fmean(alone.sleeps_s[SKIPPED + 1 :][: len(alone.ends_s) - 1])
    found = noted(config, options.updates, update_s)
    starts = range(0, len(found.lags) - BLOCK + 1, BLOCK)
    blocks = [statistics.fmean(found.lags[first : first + BLOCK]) for first in starts]
    mean, error = statistics.fmean(found.lags), statistics.stdev(blocks) / len(blocks) ** 0.5
    half = float(student.ppf((1.0 + level) / 2.0, len(blocks) - 1)) * error
    load = statistics.fmean(found.updates_s) / (own_s + statistics.fmean(found.sleeps_s))
    expected = law(load, places(config))
    return {
        "rho": rho,
        "load": load,
        "own_s": own_s,
        "updates": len(found.lags),
        "lag": mean,
        "low": mean - half,
        "high": mean + half,
        "law": expected,
        "holds": half <= MOST_HALF and abs(mean - expected) <= half,
        "lags": [found.lags.count(lag) for lag in range(max(found.lags) + 1)],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rho", type=float, nargs="+", default=[0.5, 0.9, 1.0, 2.0])
    parser.add_argument("--waiting", type=int, default=2, help="runtime.waiting_batches")
    parser.add_argument("--mean-ms", type=float, default=40.0, help="of an update")
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    if options.updates < 10 * BLOCK:
        parser.error(f"--updates {options.updates}: expected {10 * BLOCK} or more")
    ProcessGroup.program = "bench.slow_learner"
    told: dict[str, Any] = {"hardware": hardware(), "waiting": options.waiting, "points": []}
    for seed, rho in enumerate(options.rho, 1):
        told["points"].append(measured(rho, seed, options))
        write_whole(options.json, json.dumps(told, indent=1) + "\n")
        print(json.dumps(told["points"][-1]), flush=True)
    return int(not all(point["holds"] for point in told["points"]))


if __name__ == "__main__":
    sys.exit(main())
