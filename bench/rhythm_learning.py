"""Whether `hts` learns as much from as many frames as `sync` does: a test of equivalence.

    python -m bench.rhythm_learning --game cartpole --algorithm ppo --json rhythm_learning.json
    python -m bench.rhythm_learning --game breakout --algorithm a2c --json rhythm_learning.json

Seeds 1, 2, ... train in both rhythms, in the placement "serial", on one thread. Of each run the
area under its learning curve is kept: the mean, over the frames of all games that ended, of the
return of the game that the frame belongs to. Rows of `hts` are a round old (docs/rhythms.md), those
of `sync` are not. A2C's gradient is "delayed" in `hts` and PPO's "clipped". The difference of the
two areas, in the mean over the seeds and as a share of `sync`'s mean area, is told with its 90 %
interval (Student's, for the ratio of two means of pairs). The rhythms are equivalent where the
whole interval lies within the game's margin, two one-sided tests of 5 %, and where `sync` learned:
the last tenth of its curve is twice the first or more. `seeds_needed` says how many seeds, of the
spread that was seen, show the equivalence of equal rhythms four times of five.

  cartpole  the shipped configs, 100 000 frames, 20 seeds, +-10 %
  breakout  minatar:breakout with the network of its authors, 500 000 frames, 10 seeds, +-20 %

The number of seeds is part of the test: choose another (`--seeds`, at most 20) before the first
look. Two runs go at a time (`--jobs`). A run that stands in the file is not made again, and a file
of other configurations is refused. The command ends with 1 where the rhythms were not shown to be
equivalent.
"""

import argparse
import hashlib
import json
import math
import multiprocessing
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import torch
from scipy.stats import t as student

from bench.memory import MemorySink, NoControl
from bench.throughput import hardware
from pbt.config.load import load_config
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.files import write_whole
from pbt.processes.tie_to_parent import die_with_parent
from pbt.runtime.build import build_engine
from pbt.runtime.placements import resolve
from pbt.snapshots import FileSnapshotStore

RHYTHMS = ("sync", "hts")
# Of a learning curve that are kept, and how much the last of them is above the first.
PARTS, LEARNED = 10, 2.0
MOST_SEEDS = 20


class Game(NamedTuple):
    """frames: of a run; margin: of equivalence, a share; changes: of the shipped config."""

    frames: int
    seeds: int
    margin: float
    changes: tuple[str, ...] = ()


GAMES: Mapping[str, Game] = {
    "cartpole": Game(100_000, 20, 0.10),
    # Returns are counts of bricks.
    "breakout": Game(
        500_000,
        10,
        0.20,
        (
            'env.name="minatar:breakout"',
            "model.conv=[{channels=16,kernel=3}]",
            "model.hidden=[128]",
            'model.activation="relu"',
            "learning.reward_scale=0.2",
            "learning.entropy_coef=0.01",
        ),
    ),
}


def config_of(game: str, algorithm: str, rhythm: str, seed: int) -> RunConfig:
    found = GAMES[game]
    changes = [
        *found.changes,
        f"seed={seed}",
        f"stop_at_frames={found.frames}",
        f"snapshots.every_frames={found.frames}",
        "evaluation.final_games=0",
        'runtime.placement="serial"',
        f"runtime.sync={rhythm}",
    ]
    if rhythm == "hts" and algorithm == "a2c":
        changes.append("hts.gradient=delayed")
    return resolve(load_config(f"cartpole_{algorithm}", changes), cores=1, cuda=False)


def digest_of(game: str, algorithm: str, rhythm: str, seed: int) -> str:
    """Of everything that a run is made with."""
    config = config_of(game, algorithm, rhythm, seed).model_dump_json()
    return hashlib.sha256(config.encode()).hexdigest()


def areas(games: Sequence[tuple[int, float]]) -> tuple[float, list[float]]:
    """The area under a learning curve, and that of each tenth of the frames.

    games: frames and return of each game, in the order in which they ended
    """
    total = sum(frames for frames, _ in games)
    parts, played = [[0.0, 0.0] for _ in range(PARTS)], 0
    for frames, returns in games:
        part = parts[min(PARTS - 1, played * PARTS // total)]
        part[0] += frames * returns
        part[1] += frames
        played += frames
    whole = sum(weighted for weighted, _ in parts) / total
    return whole, [round(weighted / max(1.0, frames), 3) for weighted, frames in parts]


def run(game: str, algorithm: str, rhythm: str, seed: int) -> dict[str, Any]:
    """One training: its area, and its curve in tenths."""
    torch.set_num_threads(1)
    config, sink = config_of(game, algorithm, rhythm, seed), MemorySink()
    spec = registry.spec(config.env.name)
    with tempfile.TemporaryDirectory() as folder:
        engine = build_engine(config, spec, sink, FileSnapshotStore(Path(folder)), NoControl())
        try:
            engine.controller.start()
            engine.run(lambda: None)
            weights = engine.weights_digest()
        finally:
            engine.close()
    whole, tenths = areas([(one.frames, one.seats[0].returns) for one in sink.games])
    lags = sorted({(one["round_lag_min"], one["round_lag_max"]) for _, _, one in sink.points})
    return {
        "game": game,
        "algorithm": algorithm,
        "rhythm": rhythm,
        "seed": seed,
        "config": digest_of(game, algorithm, rhythm, seed),
        "commit": hardware()["commit"],
        "area": whole,
        "tenths": tenths,
        "games": len(sink.games),
        "round_lags": lags,
        "weights": weights,
    }


def compared(pairs: Sequence[tuple[float, float]], margin: float) -> dict[str, Any]:
    """The relative difference of (sync, hts) areas with its 90 % interval, and the verdict.

    The error of a ratio of means of pairs is that of `hts - ratio * sync` over the mean of `sync`.
    """
    base = statistics.fmean(sync for sync, _ in pairs)
    ratio = statistics.fmean(hts for _, hts in pairs) / base
    spread = statistics.stdev(hts - ratio * sync for sync, hts in pairs) / base
    half = float(student.ppf(0.95, len(pairs) - 1)) * spread / math.sqrt(len(pairs))
    low, high = ratio - 1.0 - half, ratio - 1.0 + half
    return {
        "seeds": len(pairs),
        "sync": base,
        "difference": ratio - 1.0,
        "low": low,
        "high": high,
        "margin": margin,
        "equivalent": -margin <= low and high <= margin,
        "seeds_needed": seeds_needed(spread, margin),
    }


def seeds_needed(spread: float, margin: float) -> int:
    """How many pairs of equal rhythms pass both one-sided tests with a chance of 80 %."""
    pairs = 2
    while (
        float(student.ppf(0.95, pairs - 1) + student.ppf(0.9, pairs - 1)) * spread
        > margin * pairs**0.5
    ):
        pairs += 1
    return pairs


def learned(runs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether `sync` got better, in the mean over its runs."""
    tenths = [one["tenths"] for one in runs if one["rhythm"] == "sync"]
    first, last = (statistics.fmean(curve[place] for curve in tenths) for place in (0, -1))
    return last >= LEARNED * first


def pairs_of(runs: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """(sync, hts) areas by seed, of one game and algorithm."""
    areas_of = {(one["seed"], one["rhythm"]): one["area"] for one in runs}
    seeds = sorted({seed for seed, _ in areas_of})
    return [(areas_of[seed, "sync"], areas_of[seed, "hts"]) for seed in seeds]


def stored(path: Path) -> dict[str, Any]:
    """A file's runs and comparisons. Raises: SystemExit for runs of other configurations."""
    if not path.exists():
        return {"runs": [], "compared": {}}
    told: dict[str, Any] = json.loads(path.read_text())
    for one in told["runs"]:
        if one["config"] != digest_of(one["game"], one["algorithm"], one["rhythm"], one["seed"]):
            raise SystemExit(
                f"{path}: {one['game']} {one['algorithm']}, seed {one['seed']}, was made with "
                "another configuration than there is now; name another file with --json"
            )
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", choices=tuple(GAMES), required=True)
    parser.add_argument("--algorithm", choices=("ppo", "a2c"), required=True)
    parser.add_argument("--seeds", type=int, help="how many, from 1 on (the game's own number)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--json", type=Path, required=True, help="raw file; it is continued")
    options = parser.parse_args(arguments)
    seeds = options.seeds or GAMES[options.game].seeds
    if not 2 <= seeds <= MOST_SEEDS:
        parser.error(f"--seeds {seeds}: expected 2 to {MOST_SEEDS}")
    told = stored(options.json)
    asked = [
        (options.game, options.algorithm, rhythm, seed)
        for seed in range(1, seeds + 1)
        for rhythm in RHYTHMS
    ]
    done = {key_of(one) for one in told["runs"]}
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(options.jobs, mp_context=context, initializer=die_with_parent)
    with pool:
        for future in as_completed([pool.submit(run, *key) for key in asked if key not in done]):
            told["runs"].append(future.result())
            told["hardware"] = hardware()
            write_whole(options.json, json.dumps(told, indent=1) + "\n")
            print(json.dumps(told["runs"][-1]), flush=True)
    own = [one for one in told["runs"] if key_of(one) in asked]
    found = compared(pairs_of(own), GAMES[options.game].margin) | {"learned": learned(own)}
    told["compared"][f"{options.game} {options.algorithm}"] = found
    write_whole(options.json, json.dumps(told, indent=1) + "\n")
    print(json.dumps(found))
    return 0 if found["equivalent"] and found["learned"] else 1


def key_of(one: Mapping[str, Any]) -> tuple[str, str, str, int]:
    return one["game"], one["algorithm"], one["rhythm"], one["seed"]


if __name__ == "__main__":
    sys.exit(main())
