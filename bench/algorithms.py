"""Whether each algorithm learns a known game to a known mark, by its shipped config.

    python -m bench.algorithms --game cartpole --algorithm ppo --json bench/results/algorithms.json
    python -m bench.algorithms --game cartpole --algorithm a2c --json bench/results/algorithms.json
    python -m bench.algorithms --game cartpole --algorithm dqn --json bench/results/algorithms.json
    python -m bench.algorithms --game pendulum --algorithm ppo --json bench/results/algorithms.json
    python -m bench.algorithms --game half_cheetah --algorithm ppo \\
        --beside bench/results/defaults_sb3.json --json bench/results/algorithms.json

TRIALS says what is tried: the config, the mark, within how many frames, and by how many seeds of
how many it has to be reached. The seeds are 1, 2, ..., each of which is run and reported.

A seed trains in the placement "serial", on one thread, and stops at every 10 000 frames of its
member: its newest snapshot plays 100 episodes with sampled actions (`arena.evaluate`). The first
mean at the mark or above ends the training, and the same weights play 100 fresh episodes, on other
seeds. A seed has passed if their mean is at the mark as well. There is one try: a seed whose fresh
episodes fall short has failed. In Pendulum the training stops once, at 290 000 frames.

HalfCheetah has no mark: the training stops once, at 290 000 frames, the snapshot plays 20 fresh
episodes, and the mean over the seeds is told with its 95 % interval (Student's). `--beside` names
the raw file of `bench/sb3_ppo.py`, whose mean is told alike; ours has held where it is not below
the lower end of that interval. It needs `pip install 'gymnasium[mujoco]'`.

Two seeds run at a time by default (`--jobs`). A program that was stopped goes on where it was: a
seed that the file has is not run again, and one that was under way has its population in
`--folder`, until its numbers are in the file. Weights do not depend on where it was stopped.
"""

import argparse
import json
import math
import multiprocessing
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

import torch
from scipy.stats import t as student

import arena
from arena.league.flat_records import FlatSnapshot
from arena.python.configs import words_of
from arena.python.following import Following
from arena.training.listeners import Update
from bench.throughput import hardware
from pbt.config.load import load_config
from pbt.processes.tie_to_parent import die_with_parent


class Trial(NamedTuple):
    """What an algorithm has to reach in a game.

    config    the shipped config that it trains with
    mark      that the mean return of an evaluation has to reach; None: it is held against a peer
    frames    within which
    seeds     1 to this one are run
    needed    so many of them have to pass
    every     frames from one evaluation to the next
    episodes  of an evaluation
    """

    config: str
    mark: float | None
    frames: int
    seeds: int
    needed: int = 0
    every: int = 10_000
    episodes: int = 100


TRIALS: Mapping[tuple[str, str], Trial] = {
    ("cartpole", "ppo"): Trial("cartpole_ppo", 475.0, 300_000, seeds=20, needed=19),
    ("cartpole", "a2c"): Trial("cartpole_a2c", 475.0, 1_000_000, seeds=20, needed=19),
    ("cartpole", "dqn"): Trial("cartpole_dqn", 475.0, 300_000, seeds=20, needed=19),
    ("pendulum", "ppo"): Trial("pendulum", -200.0, 300_000, seeds=5, needed=5, every=290_000),
    ("half_cheetah", "ppo"): Trial(
        "half_cheetah", None, 300_000, seeds=5, every=290_000, episodes=20
    ),
}
# Seeds of the episodes that end a training, and of the fresh ones.
EVALUATED, CONFIRMED = 1, 2
NAME, SECTIONS = "run", ("model", "sampling", "learning", "dqn", "runtime")


def overrides_of(trial: Trial, seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "stop_at_frames": trial.frames,
        "snapshots.every_frames": trial.every,
        "snapshots.keep_newest": trial.frames // trial.every + 2,
        "evaluation.share": 0.0,
        "evaluation.final_games": 0,
        "runtime.placement": "serial",
    }


def values_of(trial: Trial) -> dict[str, Any]:
    """What a file has been made with, as JSON has it."""
    words = words_of(overrides_of(trial, 1))
    config = load_config(trial.config, words).model_dump(mode="json")
    return {"trial": trial._asdict(), **{name: config[name] for name in SECTIONS}}


def train_on(trial: Trial, seed: int, data: Path) -> bool:
    """Train to the next snapshot. Returns whether the training has ended.

    data  the data directory of this seed, which may hold a part of its training
    Raises: KeyboardInterrupt when Ctrl-C stopped it before.
    """
    goes_on = any((data / "populations" / NAME / "checkpoints").glob("*"))
    newest = snapshots_of(data)[-1].frames if goes_on else 0
    due = (newest // trial.every + 1) * trial.every

    def follow(update: Update) -> None:
        nonlocal newest
        newest = update.frames

    following: Following = {"on_update": follow, "stop": lambda: newest >= due}
    if goes_on:
        result = arena.resume(NAME, data=data, **following)
    else:
        # It was stopped before its first checkpoint, or never began.
        shutil.rmtree(data, ignore_errors=True)
        overrides = overrides_of(trial, seed)
        result = arena.train(trial.config, NAME, data=data, overrides=overrides, **following)
    if not result.finished and newest < due:
        raise KeyboardInterrupt
    return result.finished


def snapshots_of(data: Path) -> list[FlatSnapshot]:
    """Those of the seed's member, by frames, each once."""
    return list({one.snapshot_id: one for one in arena.league(data).snapshots(NAME)}.values())


def mean_return(trial: Trial, snapshot: FlatSnapshot, seed: int, data: Path) -> dict[str, Any]:
    found = arena.evaluate(snapshot.snapshot_id, episodes=trial.episodes, seed=seed, data=data)
    returns = found.returns.returns
    assert len(returns) == trial.episodes and not found.spoiled
    return {"return": fmean(returns), "least": min(returns), "episodes": len(returns)}


def one_seed(trial: Trial, seed: int, data: Path) -> dict[str, Any]:
    """Train until an evaluation reaches the mark, and confirm it.

    Returns whether it passed, the frames and both evaluations (None where the mark was not
    reached), and the mean of every evaluation by its frames.
    """
    torch.set_num_threads(1)
    means: dict[int, float] = {}
    finished = False
    while not finished:
        finished = train_on(trial, seed, data)
        for snapshot in snapshots_of(data):
            if snapshot.frames in means or not 0 < snapshot.frames <= trial.frames:
                continue
            reached = mean_return(trial, snapshot, EVALUATED, data)
            means[snapshot.frames] = reached["return"]
            if trial.mark is not None and reached["return"] < trial.mark:
                continue
            confirmed = mean_return(trial, snapshot, CONFIRMED, data)
            return {
                "passed": trial.mark is None or confirmed["return"] >= trial.mark,
                "frames": snapshot.frames,
                "reached": reached,
                "confirmed": confirmed,
                "evaluations": means,
            }
    return {
        "passed": False,
        "frames": None,
        "reached": None,
        "confirmed": None,
        "evaluations": means,
    }


def summary(trial: Trial, seeds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Over all seeds that were run: how many passed, and where; None where none did.

    Without a mark every seed passes, and nothing is said of whether the trial has held.
    """
    passed = [run for run in seeds.values() if run["passed"]]
    frames = [run["frames"] for run in passed]
    confirmed = [run["confirmed"]["return"] for run in passed]
    held = len(seeds) >= trial.seeds and len(passed) >= trial.needed
    return {
        "seeds": len(seeds),
        "passed": len(passed),
        "reached": sum(run["reached"] is not None for run in seeds.values()),
        "held": None if trial.mark is None else held,
        "frames": {"median": median(frames), "most": max(frames)} if passed else None,
        "confirmed": {"mean": fmean(confirmed), "least": min(confirmed)} if passed else None,
    }


def interval(values: Sequence[float]) -> dict[str, float]:
    """Mean and 95 % interval (Student's) of two or more numbers."""
    mean, error = fmean(values), stdev(values) / math.sqrt(len(values))
    half = float(student.ppf(0.975, len(values) - 1)) * error
    return {"mean": mean, "low": mean - half, "high": mean + half}


def beside_peer(
    trial: Trial, seeds: Mapping[str, Mapping[str, Any]], peer: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Ours and a peer's mean over the seeds; the peer had 10 000 frames more."""
    ours = interval([run["confirmed"]["return"] for run in seeds.values()])
    theirs = interval([run["return"] for run in peer.values()])
    held = len(seeds) >= trial.seeds and ours["mean"] >= theirs["low"]
    return {"ours": ours, "theirs": theirs, "held": held}


class RawFile:
    """The raw file, of all trials. Every change is written at once."""

    def __init__(self, path: Path, game: str, algorithm: str) -> None:
        self._path, self._game, self._algorithm = path, game, algorithm
        self._trial = TRIALS[game, algorithm]

    def part(self) -> dict[str, Any]:
        """This trial's part. Raises: SystemExit for one that was made with other values."""
        raw = json.loads(self._path.read_text()) if self._path.exists() else {}
        values = json.loads(json.dumps(values_of(self._trial)))
        new = {"values": values, "seeds": {}}
        part: dict[str, Any] = raw.get(self._game, {}).get(self._algorithm, new)
        # A key that came later has a default by which nothing changes.
        stored = part["values"].items()
        now = {name: {key: values[name].get(key) for key in old} for name, old in stored}
        if part["values"] != now:
            raise SystemExit(
                f"{self._path}: {self._game} {self._algorithm} was measured with other values than "
                "the config has now; name another file"
            )
        return part

    def add(self, seed: int, found: Mapping[str, Any]) -> None:
        """Store a seed's numbers. Other programs may have written since."""
        part, machine = self.part(), hardware()
        seeds = {**part["seeds"], str(seed): {**found, "commit": machine["commit"]}}
        part["seeds"] = {number: seeds[number] for number in sorted(seeds, key=int)}
        part["hardware"] = machine
        part["summary"] = summary(self._trial, part["seeds"])
        self._store(part)

    def add_peer(self, peer: Mapping[str, Mapping[str, Any]]) -> None:
        """Hold the seeds against those of a peer."""
        part = self.part()
        part["beside"] = beside_peer(self._trial, part["seeds"], peer)
        part["summary"] = summary(self._trial, part["seeds"])
        print(json.dumps(part["beside"]), file=sys.stderr)
        self._store(part)

    def _store(self, part: Mapping[str, Any]) -> None:
        raw = json.loads(self._path.read_text()) if self._path.exists() else {}
        raw.setdefault(self._game, {})[self._algorithm] = part
        written = self._path.with_suffix(".part")
        written.write_text(json.dumps(raw, indent=1) + "\n")
        os.replace(written, self._path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", choices=sorted({game for game, _ in TRIALS}), required=True)
    parser.add_argument("--algorithm", choices=sorted({name for _, name in TRIALS}), required=True)
    parser.add_argument("--seeds", type=int, help="only the first of the trial's seeds")
    parser.add_argument("--jobs", type=int, default=2, help="seeds that run at the same time")
    parser.add_argument("--folder", type=Path, default=Path("artifacts/algorithms"))
    parser.add_argument("--beside", type=Path, help="raw file of bench/sb3_ppo.py")
    parser.add_argument("--json", type=Path, required=True, help="raw file; it is continued")
    options = parser.parse_args()
    chosen = options.game, options.algorithm
    if chosen not in TRIALS:
        known = ", ".join(map(" ".join, TRIALS))
        parser.error(f"no trial of {' '.join(chosen)}; expected one of {known}")
    trial, raw = TRIALS[chosen], RawFile(options.json, *chosen)
    done = raw.part()["seeds"]
    seeds = range(1, 1 + min(trial.seeds, options.seeds or trial.seeds))
    folders = {seed: options.folder / "-".join((*chosen, str(seed))) for seed in seeds}
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(options.jobs, mp_context=context, initializer=die_with_parent)
    with pool:
        running = {
            pool.submit(one_seed, trial, seed, folder): seed
            for seed, folder in folders.items()
            if str(seed) not in done
        }
        for future in as_completed(running):
            seed = running[future]
            raw.add(seed, found := future.result())
            shutil.rmtree(folders[seed])
            print(f"{' '.join(chosen)} {seed}: {found}", file=sys.stderr, flush=True)
    if options.beside is not None:
        peer = json.loads(options.beside.read_text())[options.game]["seeds"]
        raw.add_peer(peer)


if __name__ == "__main__":
    main()
