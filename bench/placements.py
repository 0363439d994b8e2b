"""How fast one population learns in each placement, in interleaved rounds.

    python -m bench.placements --rounds 5 --seconds 30 --json bench/placements.json

Every round trains each placement in turn, from its first frame, as `arena train` does with everything that belongs to it (league, metrics,
checkpoints): so a slow moment of the machine hits all alike. Its start and a warm-up are not counted.
Reported, as medians over the rounds with least and greatest:
  frames_per_s   frames consumed by learners, all members together
  ratio          of frames_per_s to the first placement's of the same round
  lag_mean, lag_max   policy lag of the updates, in versions of the weights
  shares         by stage, of the time of each process that reports stages, averaged over those of a kind
  pss_mb         memory of all processes at the end, what they share counted once
Run it from the repository's root on a machine with nothing else to do.
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

from arena.status import RunStatus
from bench.throughput import hardware
from tests.e2e.faults import processes
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run
from tests.e2e.faults.strikes import current

MB = 1e6


def status_after(run: Run, written_at: float) -> RunStatus:
    """The first that was written then or later."""

    def seen() -> RunStatus | None:
        status = run.status()
        return status if status is not None and status.written_at >= written_at else None

    return run.until(seen, 60.0, "a newer status")


def one_run(folder: Path, placement: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train, warm up, measure, stop."""
    run = Run(folder, Path(f"configs/{options.config}.toml").read_text(encoding="utf-8"))
    settings = [f"population.members={options.members}", f"sampling.seat_block={options.seat_block}", *options.settings]
    try:
        run.start("stop_at_frames=1_000_000_000", f"runtime.placement={placement}", *settings)
        start_growing(run)
        first = status_after(run, time.time() + options.warmup)
        last = status_after(run, first.written_at + options.seconds)
        pss_mb = sum(processes.pss_bytes(pid) for pid in processes.of_run(run.mark, run.pid)) / MB
        seconds = last.written_at - first.written_at
        speed = (frames(last) - frames(first)) / seconds
        lags = updates(run, first.written_at, last.written_at)
        return {"frames_per_s": speed, "pss_mb": pss_mb, "processes": len(current(run).processes), **lags, "shares": shares(first, last)}
    finally:
        run.close()
        run.remove()


def frames(status: RunStatus) -> int:
    return sum(member.frames for member in status.members)


def updates(run: Run, since: float, until: float) -> dict[str, float]:
    """Policy lag over the updates of that time."""
    lines = (run.paths.metrics / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[:-1]
    points = [point for point in map(json.loads, lines) if "lag_mean" in point and since <= point["t"] <= until]
    if not points:
        return {"updates": 0, "lag_mean": 0.0, "lag_max": 0.0}
    lag_mean = statistics.fmean(point["lag_mean"] for point in points)
    return {"updates": len(points), "lag_mean": lag_mean, "lag_max": max(point["lag_max"] for point in points)}


def shares(first: RunStatus, last: RunStatus) -> dict[str, dict[str, float]]:
    """Kind of process -> stage -> its share of the time between the two looks, averaged over the processes of the kind."""
    seconds = last.written_at - first.written_at
    before = {process.name: process.stage_s for process in first.processes}
    kinds: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for process in last.processes:
        stages = {stage: (total - before.get(process.name, {}).get(stage, 0.0)) / seconds for stage, total in process.stage_s.items()}
        if stages:
            kinds[process.kind].append(stages)
    return {kind: {stage: statistics.fmean(each.get(stage, 0.0) for each in found) for stage in found[0]} for kind, found in kinds.items()}


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summary(rounds: Sequence[dict[str, dict[str, Any]]], placements: Sequence[str]) -> dict[str, Any]:
    """Placement -> medians over the rounds; ratios are taken within a round."""
    found: dict[str, Any] = {}
    for placement in placements:
        mine = [measured[placement] for measured in rounds]
        numbers = {name: spread([each[name] for each in mine]) for name in ("frames_per_s", "lag_mean", "lag_max", "updates", "pss_mb")}
        ratios = [measured[placement]["frames_per_s"] / measured[placements[0]]["frames_per_s"] for measured in rounds]
        kinds = {
            kind: {stage: statistics.median(each["shares"].get(kind, {}).get(stage, 0.0) for each in mine) for stage in stages}
            for kind, stages in mine[0]["shares"].items()
        }
        found[placement] = {**numbers, "ratio": spread(ratios), "processes": mine[0]["processes"], "shares": kinds}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--placements", nargs="+", default=["serial", "inline", "central"])
    parser.add_argument("--config", default="demo")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="measured, per round and placement")
    parser.add_argument("--warmup", type=float, default=10.0, help="seconds from the first updates on that are not counted")
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--seat-block", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    rounds: list[dict[str, dict[str, Any]]] = []
    with tempfile.TemporaryDirectory(prefix="placements-", ignore_cleanup_errors=True) as folder:
        for number in range(1, options.rounds + 1):
            rounds.append({})
            for placement in options.placements:
                rounds[-1][placement] = one_run(Path(folder) / f"{number}-{placement}", placement, options)
            words = [f"{placement} {found['frames_per_s']:,.0f}" for placement, found in rounds[-1].items()]
            print(f"round {number}: frames/s {'  '.join(words)}", file=sys.stderr, flush=True)
    settings = {name: value for name, value in vars(options).items() if name != "json"}
    report = {"hardware": hardware(), "settings": settings, "placements": summary(rounds, options.placements), "rounds": rounds}
    print(json.dumps({name: part for name, part in report.items() if name != "rounds"}, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
