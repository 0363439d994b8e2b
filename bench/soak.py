"""Measures whether the memory and open descriptors of a long training grow.

    python -m bench.soak --placement inline --minutes 60 --json soak.json

It samples each process of the training. Memory is what the processes themselves hold: heap, stacks
and their parts of shared memory. (Proportional set size also counts parts of libraries, so it grows
when another process that shared them ends.) Reported after the warm-up, per process and in all: the
slope of a least-squares line times the duration, the median of the last tenth minus that of the
first, and greatest minus least. Run it from the repository's root.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.placements import PLACEMENTS
from bench.throughput import hardware, settings_of
from pbt.config.load import find_config
from tests.e2e.faults import processes
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run
from tests.e2e.faults.strikes import current

MB = 1e6
ALL = "all"
GROWTH_LIMIT_MB = 50.0


def sample(run: Run) -> dict[str, tuple[float, int]]:
    """Process name -> (own memory in MB, open descriptors), and their sums under "all"."""
    names = {process.pid: process.name for process in current(run).processes}
    pids = [pid for pid in processes.of_run(run.mark, run.pid) if processes.alive(pid)]
    sizes = {
        names.get(pid, f"pid {pid}"): (processes.own_bytes(pid) / MB, processes.descriptors(pid))
        for pid in pids
    }
    return {
        **sizes,
        ALL: (
            sum(memory for memory, _ in sizes.values()),
            sum(count for _, count in sizes.values()),
        ),
    }


def growth(times_s: Sequence[float], values: Sequence[float]) -> dict[str, float]:
    """The growth of a series. fitted_growth: slope of a line through it times its duration."""
    slope = float(np.polyfit(times_s, values, 1)[0]) if len(values) > 1 else 0.0
    tenth = max(1, len(values) // 10)
    ends = statistics.median(values[-tenth:]) - statistics.median(values[:tenth])
    spread = {
        "first": values[0],
        "last": values[-1],
        "min": min(values),
        "max": max(values),
        "max_minus_min": max(values) - min(values),
    }
    return {
        "fitted_growth": slope * (times_s[-1] - times_s[0]),
        "per_hour": slope * 3600.0,
        "last_minus_first_tenth": ends,
        **spread,
    }


def measure(
    run: Run, seconds: float, every_s: float
) -> list[tuple[float, dict[str, tuple[float, int]]]]:
    began_s, taken = time.monotonic(), []
    while (now_s := time.monotonic() - began_s) < seconds:
        taken.append((now_s, sample(run)))
        memory, count = taken[-1][1][ALL]
        frames = sum(member.frames for member in current(run).members)
        print(
            f"{now_s:6.0f} s  {memory:8.1f} MB  {count} descriptors  {frames:,} frames",
            file=sys.stderr,
            flush=True,
        )
        time.sleep(max(0.0, every_s - (time.monotonic() - began_s - now_s)))
    return taken


def summary(taken: Sequence[tuple[float, dict[str, tuple[float, int]]]]) -> dict[str, Any]:
    """The growth per process and in all.

    A process that did not live all the time is left out, and named in "came_or_went".
    """
    series: defaultdict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for at_s, sizes_by_name in taken:
        for name, sizes in sizes_by_name.items():
            series[name].append((at_s, *sizes))
    whole = {name: rows for name, rows in series.items() if len(rows) == len(taken)}
    memory = {
        name: growth([row[0] for row in rows], [row[1] for row in rows])
        for name, rows in whole.items()
    }
    counts = {
        name: growth([row[0] for row in rows], [float(row[2]) for row in rows])
        for name, rows in whole.items()
    }
    return {
        "memory_mb": memory,
        "descriptors": counts,
        "came_or_went": sorted(set(series) - set(whole)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--placement", choices=PLACEMENTS, default="inline")
    parser.add_argument("--config", default="demo")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="of measuring, after the warm-up"
    )
    parser.add_argument("--warmup-minutes", type=float, default=5.0)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between samples")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        run = Run(
            Path(folder) / options.placement,
            find_config(options.config).read_text(encoding="utf-8"),
        )
        try:
            run.start(
                "stop_at_frames=1_000_000_000",
                f"runtime.placement={options.placement}",
                *options.settings,
            )
            start_growing(run)
            time.sleep(60 * options.warmup_minutes)
            taken = measure(run, 60 * options.minutes, options.every)
            frames = sum(member.frames for member in current(run).members)
            code = run.stop()
            left = run.left_behind()
        finally:
            run.close()
    growths = summary(taken)
    flat = all(rows["last_minus_first_tenth"] <= 0 for rows in growths["descriptors"].values())
    grown_mb = growths["memory_mb"][ALL]["fitted_growth"]
    verdict = {
        "memory_growth_mb": grown_mb,
        "memory_ok": grown_mb < GROWTH_LIMIT_MB,
        "descriptors_flat": flat,
        "exit_code": code,
        "left_behind": left,
    }
    report = {
        "hardware": hardware(),
        "settings": settings_of(options),
        "frames": frames,
        "verdict": verdict,
        **growths,
    }
    print(json.dumps(report, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps({**report, "samples": taken}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
