"""Runs one training in many layouts of processes and compares what comes of it, bit by bit.

    python -m bench.rhythm_digests --sync hts --json rhythm_digests.json
    python -m bench.rhythm_digests --sync hts --games doom --json rhythm_digests_doom.json

In rounds (docs/rhythms.md) equal seeds must give equal weights and games. Layouts are `serial`,
`inline` with 1, 2 and 4 workers, and `central` with 2 workers, 1, 2 and 3 servers, and 1 and 2
groups of tables. Each is run --repeats times, and games, servers and learners sleep at random
moments (bench/sleepy.py), in every run otherwise. A run's digest is a SHA-256 over the weights of
all members and over every game, in the order in which games were told.

  connect_four  four members with the demo's network in a small training with PBT, past opponents by
                win rates, evaluation games and a final evaluation
  cartpole      the shipped PPO
  doom          doom_basic with 16 engines

A run that stands in the file already is not made again. The command ends with 1 if the runs of a
game have more than one digest, or a row had another lag than its rhythm promises.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.memory import MemorySink, NoControl
from bench.sleepy import sleeps
from bench.throughput import hardware
from pbt.config.load import load_config
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.runtime.build import build_engine
from pbt.runtime.placements import resolve
from pbt.runtime.process_group import ProcessGroup
from pbt.snapshots import FileSnapshotStore

LAYOUTS: dict[str, tuple[str, ...]] = {
    "serial": ('placement="serial"',),
    **{f"inline {n}": ('placement="inline"', f"workers={n}") for n in (1, 2, 4)},
    **{
        f"central {servers} x {groups}": (
            'placement="central"',
            "workers=2",
            f"servers={servers}",
            f"groups={groups}",
        )
        for servers in (1, 2, 3)
        for groups in (1, 2)
    },
}
GAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "connect_four": (
        "demo",
        (
            "population.members=4",
            "stop_at_frames=12_000",
            "sampling.environments=64",
            "learning.minibatches=4",
            "pbt.period_frames=3_000",
            "pbt.warmup_frames=3_000",
            "pbt.min_games=20",
            "pbt.copy_significance=1.0",
            "pbt.copy_gap=0.0",
            "matchmaking.past_share=0.3",
            'matchmaking.past_mode="pfsp_variance"',
            "snapshots.every_frames=3_000",
            "evaluation.final_games=20",
        ),
    ),
    "cartpole": ("cartpole_ppo", ("stop_at_frames=20_000", "evaluation.final_games=20")),
    "doom": (
        "doom_basic",
        (
            "stop_at_frames=6_000",
            "sampling.environments=16",
            "learning.batch_steps=512",
            "evaluation.final_games=8",
        ),
    ),
}


def config_of(game: str, layout: str, sync: str) -> RunConfig:
    name, changes = GAMES[game]
    runtime = [f"runtime.{value}" for value in LAYOUTS[layout]]
    config = load_config(name, [*changes, *runtime, f"runtime.sync={sync}"])
    return resolve(config, cores=2, cuda=False)


def run(game: str, layout: str, sync: str) -> dict[str, Any]:
    """One training. Returns its digests, its counts and the lags of all updates."""
    config, sink, began = config_of(game, layout, sync), MemorySink(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        spec, store = registry.spec(config.env.name), FileSnapshotStore(Path(folder))
        engine = build_engine(config, spec, sink, store, NoControl())
        try:
            engine.controller.start()
            engine.run(lambda: None)
            weights, trained = engine.weights_digest(), engine.scheduler.rows_trained
        finally:
            engine.close()
    games = hashlib.sha256("\n".join(map(repr, sink.games)).encode()).hexdigest()
    lags = sorted({(one["round_lag_min"], one["round_lag_max"]) for _, _, one in sink.points})
    return {
        "game": game,
        "layout": layout,
        "sync": sync,
        "digest": hashlib.sha256(f"{weights} {games}".encode()).hexdigest(),
        "weights": weights,
        "games": len(sink.games),
        "rounds_of_pbt": len(sink.rounds),
        "copies": sum(one.directive.copy_from is not None for one in sink.rounds),
        "rows": trained,
        "round_lags": lags,
        "versions_lag_max": max(one["lag_max"] for _, _, one in sink.points),
        "seconds": round(time.monotonic() - began, 1),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sync", choices=("sync", "hts"), default="hts")
    parser.add_argument("--games", nargs="+", choices=tuple(GAMES), default=["connect_four"])
    parser.add_argument("--layouts", nargs="+", choices=tuple(LAYOUTS), default=list(LAYOUTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, required=True)
    asked = parser.parse_args(arguments)
    sleeps(setattr)
    ProcessGroup.program = "bench.sleepy"
    stored = json.loads(asked.json.read_text()) if asked.json.exists() else {}
    runs: list[dict[str, Any]] = stored.get("runs", [])
    for repeat in range(asked.repeats):
        for game in asked.games:
            for layout in asked.layouts:
                key = game, layout, asked.sync
                if sum((one["game"], one["layout"], one["sync"]) == key for one in runs) <= repeat:
                    runs.append(run(*key))
                    stored = {"hardware": hardware(), "runs": runs}
                    asked.json.write_text(json.dumps(stored, indent=1) + "\n")
                    print(json.dumps(runs[-1]), flush=True)
    return report(runs, asked.sync)


def report(runs: list[dict[str, Any]], sync: str) -> int:
    """Print one line for each game; returns the exit code."""
    allowed, broken = [[0, 0], [1, 1]] if sync == "hts" else [[0, 0]], False
    for game in GAMES:
        own = [one for one in runs if one["game"] == game and one["sync"] == sync]
        if not own:
            continue
        digests = {one["digest"] for one in own}
        lags = {tuple(lag) for one in own for lag in one["round_lags"]}
        good = len(digests) == 1 and lags <= set(map(tuple, allowed))
        broken |= not good
        layouts = len({one["layout"] for one in own})
        words = f"{len(own)} runs in {layouts} layouts, {len(digests)} digests"
        print(f"{game}: {words}, lags in rounds {sorted(lags)}: {'equal' if good else 'NOT equal'}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
