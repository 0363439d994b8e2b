"""How fast one population learns in each placement, and populations of several sizes, in
interleaved rounds.

    python -m bench.placements --rounds 5 --seconds 30 --json bench/placements.json python -m
    bench.placements --config doom_health_gathering_supreme --placements inline --members 1 8
    --rounds 3 --seconds 60

Every round trains each placement (with each number of members) in turn, from its first frame, as
`arena train` does with everything that belongs to
it (league, metrics, checkpoints): so a slow moment of the machine hits all alike. Its start and a
warm-up are not counted.
Reported, as medians over the rounds with least and greatest:
  frames_per_s   frames consumed by learners: of every member between its first and its last update
                 of the time measured, all members added up,
                 so that it does not count where between two updates the time began or ended
  ratio          of frames_per_s to that of the first of the same round
  lag_mean, lag_max   policy lag of the updates, in versions of the weights
  step_frames, step_s, measured_s   least frames and longest seconds from one counted update of a
                                    member to the next; seconds from first to last
  shares         by stage, of the time of each process that reports stages, averaged over those of a
                 kind
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
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from arena.data.status import RunStatus
from bench.throughput import hardware, settings_of
from pbt.config.load import find_config
from tests.e2e.faults import processes
from tests.e2e.faults.recovery import growing
from tests.e2e.faults.running import START_LIMIT_S, Run
from tests.e2e.faults.strikes import current

MB = 1e6
PLACEMENTS = ("serial", "inline", "central")
FIGURES = (
    "frames_per_s",
    "step_frames",
    "step_s",
    "measured_s",
    "lag_mean",
    "lag_max",
    "updates",
    "pss_mb",
)
# A status is written every second; a busy machine may be late with it.
PATIENCE_S = 60.0


def status_after(run: Run, written_at: float) -> RunStatus:
    """The first that was written then or later."""

    def seen() -> RunStatus | None:
        status = run.status()
        return status if status is not None and status.written_at >= written_at else None

    return run.until(seen, max(0.0, written_at - time.time()) + PATIENCE_S, "a newer status")


def one_run(
    folder: Path, placement: str, members: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Train, warm up, measure, stop."""
    run = Run(folder, find_config(options.config).read_text(encoding="utf-8"))
    settings = [
        f"population.members={members}",
        f"sampling.seat_block={options.seat_block}",
        *options.settings,
    ]
    try:
        run.start("stop_at_frames=1_000_000_000", f"runtime.placement={placement}", *settings)
        growing(run, time.monotonic(), options.start)
        first = status_after(run, time.time() + options.warmup)
        last = status_after(run, first.written_at + options.seconds)
        pss_mb = sum(processes.pss_bytes(pid) for pid in processes.of_run(run.mark, run.pid)) / MB
        points = updates(run, first.written_at, last.written_at)
        found = {
            "frames_per_s": speed(points),
            **resolution(points),
            "pss_mb": pss_mb,
            "processes": len(current(run).processes),
        }
        return {**found, **lag_figures(points), "shares": shares(first, last)}
    finally:
        run.close()
        run.remove()


def updates(run: Run, since: float, until: float) -> list[dict[str, Any]]:
    """The learners' curves, of the updates of that time."""
    lines = (run.paths.metrics / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[:-1]
    return [
        point
        for point in map(json.loads, lines)
        if "lag_mean" in point and since <= point["t"] <= until
    ]


def by_member(points: Sequence[dict[str, Any]]) -> list[list[tuple[float, int]]]:
    """(moment, frames by then) of each member's updates. Raises: SystemExit when a member was
    updated less than twice.
    """
    members: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for point in points:
        members[point["member"]].append((point["t"], point["frames"]))
    if not members or min(map(len, members.values())) < 2:
        found = {name: len(of) for name, of in members.items()} or "none"
        raise SystemExit(
            f"updates seen in the time measured, by member: {found}; expected two or more of "
            "each; measure longer with --seconds"
        )
    return list(members.values())


def speed(points: Sequence[dict[str, Any]]) -> float:
    """Frames per second. Raises: SystemExit when a member was updated less than twice."""
    return sum((of[-1][1] - of[0][1]) / (of[-1][0] - of[0][0]) for of in by_member(points))


def resolution(points: Sequence[dict[str, Any]]) -> dict[str, float]:
    """How finely frames were counted. A speed is taken from one step of a counter to a later one:
    what is left is the delay of writing a step down.

    step_frames: the least step of a member's counter;  step_s: the longest time between two;
    measured_s: mean time from first to last
    """
    members = by_member(points)
    pairs = [pair for of in members for pair in pairwise(of)]
    measured_s = statistics.fmean(of[-1][0] - of[0][0] for of in members)
    return {
        "step_frames": min(f1 - f0 for (_, f0), (_, f1) in pairs),
        "step_s": max(t1 - t0 for (t0, _), (t1, _) in pairs),
        "measured_s": measured_s,
    }


def lag_figures(points: Sequence[dict[str, Any]]) -> dict[str, float]:
    mean, most = (
        statistics.fmean(point["lag_mean"] for point in points),
        max(point["lag_max"] for point in points),
    )
    return {"updates": len(points), "lag_mean": mean, "lag_max": most}


def shares(first: RunStatus, last: RunStatus) -> dict[str, dict[str, float]]:
    """Kind of process -> stage -> its share of the time between the two looks, averaged over the
    processes of the kind.
    """
    seconds = last.written_at - first.written_at
    before = {process.name: process.stage_s for process in first.processes}
    kinds: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for process in last.processes:
        stages = {
            stage: (total - before.get(process.name, {}).get(stage, 0.0)) / seconds
            for stage, total in process.stage_s.items()
        }
        if stages:
            kinds[process.kind].append(stages)
    return {
        kind: {
            stage: statistics.fmean(each.get(stage, 0.0) for each in found) for stage in found[0]
        }
        for kind, found in kinds.items()
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summary(rounds: Sequence[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """What was run -> medians over the rounds; ratios are taken within a round."""
    found: dict[str, Any] = {}
    first = next(iter(rounds[0]))
    for label in rounds[0]:
        mine = [measured[label] for measured in rounds]
        numbers = {name: spread([each[name] for each in mine]) for name in FIGURES}
        ratios = [
            measured[label]["frames_per_s"] / measured[first]["frames_per_s"] for measured in rounds
        ]
        kinds = {
            kind: {
                stage: statistics.median(
                    each["shares"].get(kind, {}).get(stage, 0.0) for each in mine
                )
                for stage in stages
            }
            for kind, stages in mine[0]["shares"].items()
        }
        found[label] = {
            **numbers,
            "ratio": spread(ratios),
            "processes": mine[0]["processes"],
            "shares": kinds,
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--placements", nargs="+", choices=PLACEMENTS, default=list(PLACEMENTS))
    parser.add_argument("--config", default="demo")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--start",
        type=float,
        default=START_LIMIT_S,
        help="seconds until every member must have learned twice",
    )
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="measured, per round and placement"
    )
    parser.add_argument(
        "--warmup",
        type=float,
        default=10.0,
        help="seconds from the first updates on that are not counted",
    )
    parser.add_argument("--members", nargs="+", type=int, default=[4])
    parser.add_argument("--seat-block", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    rounds: list[dict[str, dict[str, Any]]] = []
    with tempfile.TemporaryDirectory(prefix="placements-", ignore_cleanup_errors=True) as folder:
        for number in range(1, options.rounds + 1):
            rounds.append({})
            for placement, members in product(options.placements, options.members):
                label = f"{placement}, {members} members"
                rounds[-1][label] = one_run(
                    Path(folder) / f"{number}-{placement}-{members}", placement, members, options
                )
            words = [
                f"{label}: {found['frames_per_s']:,.0f}" for label, found in rounds[-1].items()
            ]
            print(f"round {number}: frames/s: {'  '.join(words)}", file=sys.stderr, flush=True)
    report = {
        "hardware": hardware(),
        "settings": settings_of(options),
        "placements": summary(rounds),
        "rounds": rounds,
    }
    print(json.dumps({name: part for name, part in report.items() if name != "rounds"}, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
