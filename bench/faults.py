"""Measures how a training recovers from faults of its processes and games.

    python -m bench.faults --placements inline central --minutes 10 --kills 20 --json faults.json
    python -m bench.faults --config doom_basic --kills 5

The faults: kills of every kind of process, stopped processes, games that raise, hang and exit, and
engines that die. One training per placement is struck at uniformly random moments; after a kill of
its main process it is resumed. Reported for each fault: how often it struck, and the median and
longest time until every member's frames grew again (twice, so that rows from before the fault do
not count). Then the training is stopped, and checked: nothing of it may be left 5 s later; every
game that an observer saw committed must be in the league exactly once; `arena verify` must
agree; no voided game may be scored; rows must add up. Run it from the repository's root on an idle
machine. Progress goes to stderr.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.placements import PLACEMENTS
from bench.throughput import hardware, settings_of
from pbt.config.load import find_config
from tests.e2e.faults.campaign import (
    campaign,
    ended_well,
    on_faulty_game,
    schedule,
    small_run,
    voided,
)
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run
from tests.e2e.faults.strikes import Strike, current

SHORT_PERIODS = [
    "pbt.period_frames=20_000",
    "pbt.warmup_frames=20_000",
    "snapshots.every_frames=20_000",
    "checkpoints.every_s=10",
]
# Longer, since networks and slots full of images make checkpoints of a hundred megabytes.
IMAGE_PERIODS = [
    "pbt.period_frames=100_000",
    "pbt.warmup_frames=100_000",
    "snapshots.every_frames=100_000",
    "checkpoints.every_s=20",
]
# Only a deadline tells an engine that stands still from one that computes.
ENGINE_PERIODS = [*IMAGE_PERIODS, "env.timeout_s=3"]
ENDLESS = ["stop_at_frames=1_000_000_000", "runtime.max_restarts=100_000"]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def begin(folder: Path, placement: str, config: str, more: Sequence[str] = ()) -> Run:
    """Start a training.

    config  "small" for connect four with small networks and many updates, else a shipped config of
            connect four or of a Doom scenario, which gets short periods
    more    settings
    """
    if config == "small":
        run = small_run(folder, placement, members=4)
        run.start(*more)
        return run
    run = on_faulty_game(Run(folder, find_config(config).read_text(encoding="utf-8")))
    game = "make_doom" if has_engines(config) else "make"
    periods = ENGINE_PERIODS if has_engines(config) else SHORT_PERIODS
    run.start(
        *ENDLESS,
        *periods,
        f"runtime.placement={placement}",
        f"env.name=./faulty_game.py:{game}",
        *more,
    )
    return run


def has_engines(config: str) -> bool:
    """Whether the games are Doom scenarios, each with an engine process of its own."""
    return (
        config != "small"
        and tomllib.loads(find_config(config).read_text(encoding="utf-8"))["env"]["name"] == "doom"
    )


def one_placement(folder: Path, placement: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run the campaign of one placement. Failures are part of the result."""
    rng = random.Random(f"{options.seed} {placement}")
    faults = schedule(
        placement, options.kills, options.others, rng, engines=has_engines(options.config)
    )
    strikes: list[Strike] = []
    checks: dict[str, list[str]] = {}
    failure, processes, games, voided_games = None, list[str](), 0, 0
    began_s = time.monotonic()
    run = begin(folder / placement, placement, options.config, options.set)

    def tell(strike: Strike) -> None:
        strikes.append(strike)
        say(
            f"{placement} {len(strikes)}/{len(faults)}: {strike.fault}, learned again after "
            f"{strike.seconds:.1f} s"
        )

    try:
        say(f"{placement}: every member learned after {start_growing(run):.1f} s")
        campaign(
            run,
            faults,
            rng,
            seconds=60 * options.minutes,
            freeze_s=options.freeze,
            tell=tell,
            limit_s=options.limit,
        )
        processes = [process.name for process in current(run).processes]
        code = run.stop()
        checks = {
            "ends with exit code 0": []
            if code == 0
            else [f"exit code {code}: {run.errors()[-500:]}"],
            **ended_well(run),
        }
        games, voided_games = run.log.games, voided(run)
    except AssertionError as error:
        failure = str(error)
        say(f"{placement}: FAILED after {len(strikes)} faults: {failure}")
    finally:
        run.close()
    late = [
        f"{strike.fault}: {strike.seconds:.1f} s"
        for strike in strikes
        if strike.seconds > options.limit
    ]
    checks[f"every member learned again within {options.limit:g} s"] = late
    counts = {
        "acknowledged_games": games,
        "voided_games": voided_games,
        "starts": run.starts,
        "seconds": time.monotonic() - began_s,
    }
    return {
        "processes": processes,
        "faults": table(strikes, options.limit),
        "checks": checks,
        "failure": failure,
        **counts,
    }


def table(strikes: Sequence[Strike], limit_s: float) -> dict[str, dict[str, float]]:
    """Fault -> count, median and max seconds, and how many took longer than the limit."""
    by_fault: defaultdict[str, list[float]] = defaultdict(list)
    for strike in strikes:
        by_fault[strike.fault].append(strike.seconds)
    return {
        fault: {
            "count": len(taken),
            "median_s": statistics.median(taken),
            "max_s": max(taken),
            "late": sum(each > limit_s for each in taken),
        }
        for fault, taken in sorted(by_fault.items())
    }


def lines(report: dict[str, Any]) -> list[str]:
    """The report as text."""
    texts = []
    for placement, result in report["placements"].items():
        texts.append(
            f"{placement}: {result['seconds']:.0f} s, {result['starts']} starts, "
            f"{result['acknowledged_games']} acknowledged games"
        )
        texts.append(f"  {'fault':<14}{'count':>6}{'median s':>10}{'max s':>8}")
        texts += [
            f"  {fault:<14}{row['count']:>6}{row['median_s']:>10.1f}{row['max_s']:>8.1f}"
            for fault, row in result["faults"].items()
        ]
        texts += [
            f"  {'ok    ' if not wrong else 'WRONG '} {check}{'' if not wrong else f': {wrong}'}"
            for check, wrong in result["checks"].items()
        ]
        texts += [f"  FAILED {result['failure'].splitlines()[0]}"] if result["failure"] else []
    return texts


def options_of(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options. words: None for those of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--placements", nargs="+", choices=PLACEMENTS, default=["inline", "central"]
    )
    parser.add_argument(
        "--config",
        default="demo",
        help="a shipped config, or `small`: connect four with small networks and many updates",
    )
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="override values of the config; may be given often",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        help="of training at least; longer when the faults need it",
    )
    parser.add_argument("--kills", type=int, default=20, help="of each kind of process")
    parser.add_argument("--others", type=int, default=2, help="of each other fault")
    parser.add_argument(
        "--freeze", type=float, default=60.0, help="seconds for which a process is stopped"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=15.0,
        help=(
            "seconds until every member must learn again: a new start of everything and two updates"
        ),
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args(words)


def main() -> None:
    options = options_of()
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        results = {
            placement: one_placement(Path(folder), placement, options)
            for placement in options.placements
        }
    report = {"hardware": hardware(), "settings": settings_of(options), "placements": results}
    print("\n".join(lines(report)))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if any(result["failure"] or any(result["checks"].values()) for result in results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
