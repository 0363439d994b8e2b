"""Measures how fast each rhythm of acting and learning trains (docs/rhythms.md).

    python -m bench.rhythms --game connect_four --steps 64 --rounds 5 --json rhythms.json
    python -m bench.rhythms --game doom --rounds 5 --seconds 30 --warmup 15 --json rhythms_doom.json

Every round trains each system, forwards and backwards in turn, so that a slow moment of the machine
hits all of them alike. Counted are the frames that learners consumed in --seconds, from --warmup
seconds after the first updates on, with everything that belongs to `arena train`. Systems are a
rhythm and a placement:
  async, sync, hts          in `inline`, a worker on each core
  central async, ... hts    in `central`, with `alternating` among them

  connect_four  the demo's members, network and batch; members play only each other. In rounds of
                --steps turns there are so many tables that a rollout gives each a batch
  doom          health_gathering_supreme as it is shipped, at --steps turns

The ratio is to `async` in the same placement, within a round, with Student's interval over the
logarithms. Run it from the repository's root on a machine with nothing else to do.
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy.stats import t as student

from bench.light import ONLY_ITSELF
from bench.peer_runs import in_turn, speed, trained
from bench.sample_factory import Figures
from bench.throughput import hardware
from pbt.config.load import find_config, load_config

SYNCS = ("async", "sync", "alternating", "hts")
SYSTEMS = tuple(
    f"{placement} {sync}"
    for placement in ("inline", "central")
    for sync in SYNCS
    if (placement, sync) != ("inline", "alternating")
)
GAMES = {"connect_four": ("demo", 1), "doom": ("doom_health_gathering_supreme", 4)}


def settings(game: str, sync: str, steps: int | None) -> list[str]:
    """What a system changes in the config. steps: turns of a rollout, None: as the config says."""
    own = [f"runtime.sync={sync}"]
    if steps is not None:
        own.append(f"runtime.sync_steps={steps}")
    if game == "connect_four":
        own += ONLY_ITSELF
        if sync != "async" and steps is not None:
            # A turn of a table is one row of one member.
            demo = load_config("demo")
            members, rows = demo.population.members, demo.learning.batch_steps
            assert isinstance(members, int), "the demo has one role"
            own.append(f"sampling.environments={members * rows // steps}")
    return own


def one_run(folder: Path, system: str, options: argparse.Namespace) -> Figures:
    placement, sync = system.split()
    name, skip = GAMES[options.game]
    changes = [*settings(options.game, sync, options.steps), *options.settings]
    return trained(folder, find_config(name), placement, changes, skip, options)


def ratios(rounds: Sequence[dict[str, Figures]]) -> dict[str, Any]:
    """By system: median speed, and the mean ratio to `async` with its 95 % interval."""
    found: dict[str, Any] = {}
    for system in rounds[0]:
        base = f"{system.split()[0]} async"
        speeds = [speed(figures[system]) for figures in rounds]
        found[system] = {"frames_per_s": statistics.median(speeds)}
        if base in rounds[0] and base != system:
            logs = [math.log(speed(one[system]) / speed(one[base])) for one in rounds]
            mean, error = statistics.fmean(logs), math.nan
            if len(logs) > 1:
                error = statistics.stdev(logs) / math.sqrt(len(logs))
                error *= float(student.ppf(0.975, len(logs) - 1))
            found[system] |= {
                "ratio": math.exp(mean),
                "interval": [math.exp(mean - error), math.exp(mean + error)],
            }
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", choices=tuple(GAMES), default="connect_four")
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--steps", type=int, help="turns of a rollout (as the config says)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warmup", type=float, default=8.0)
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    rounds: list[dict[str, Figures]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, options.rounds + 1):
            figures: dict[str, Figures] = {}
            for system in in_turn(options.only, number):
                place = Path(folder) / f"{number}-{system.replace(' ', '-')}"
                figures[system] = one_run(place, system, options)
                print(number, system, f"{speed(figures[system]):.0f} frames/s", flush=True)
            rounds.append({system: figures[system] for system in options.only})
            told = {"hardware": hardware(), "game": options.game, "steps": options.steps}
            told |= {"settings": options.settings, "systems": ratios(rounds), "rounds": rounds}
            options.json.write_text(json.dumps(told, indent=1) + "\n")
    for system, one in ratios(rounds).items():
        interval = one.get("interval")
        beside = (
            ""
            if interval is None
            else f", {one['ratio']:.2f} ({interval[0]:.2f} to {interval[1]:.2f})"
        )
        print(f"{system}: {one['frames_per_s']:.0f} frames/s{beside}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
