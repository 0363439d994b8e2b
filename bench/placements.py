"""Measures how fast a population learns in each placement, and with several numbers of members.

    python -m bench.placements --rounds 5 --seconds 30 --json placements.json
    python -m bench.placements --config doom_health_gathering_supreme --placements inline \\
        --members 1 8 --rounds 3 --seconds 60

Every round trains each placement with each number of members in turn, from its first frame, as
`arena train` does with everything that belongs to it (league, metrics, checkpoints). So a slow
moment of the machine hits all of them alike. The start and a warm-up are not counted.

Reported, as medians over the rounds with least and greatest:
  frames_per_s   frames that learners consumed: of every member between its first and its last
                 update of the measured time, added up; so it does not matter where between two
                 updates the measured time begins or ends
  ratio          frames_per_s over that of the first case of the same round
  lag_mean       mean policy lag of the updates, in versions of the weights
  lag_max        greatest policy lag
  step_frames    fewest frames from one counted update of a member to the next
  step_s         longest time between two updates of a member
  measured_s     mean time from a member's first update to its last
  shares         of the time of each process, by stage, averaged over the processes of a kind
  pss_mb         memory of all processes at the end; shared memory counts once
Run it from the repository's root on an idle machine.
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
# A status is written every second, on a busy machine later.
PATIENCE_S = 60.0


def status_after(run: Run, written_at: float) -> RunStatus:
    """The first status that is written at that time or later."""

    def seen() -> RunStatus | None:
        status = run.status()
        return status if status is not None and status.written_at >= written_at else None

    return run.until(seen, max(0.0, written_at - time.time()) + PATIENCE_S, "a newer status")


def one_run(
    folder: Path, placement: str, members: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Train, warm up, measure and stop. Returns the figures."""
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
        figures = {
            "frames_per_s": speed(points),
            **resolution(points),
            "pss_mb": pss_mb,
            "processes": len(current(run).processes),
        }
        return {**figures, **lag_figures(points), "shares": shares(first, last)}
    finally:
        run.close()
        run.remove()


def updates(run: Run, since: float, until: float) -> list[dict[str, Any]]:
    """The points of the learners' curves that were written in that time."""
    lines = (run.paths.metrics / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[:-1]
    return [
        point
        for point in map(json.loads, lines)
        if "lag_mean" in point and since <= point["t"] <= until
    ]


def by_member(points: Sequence[dict[str, Any]]) -> list[list[tuple[float, int]]]:
    """For each member, (time, frames by then) of its updates.

    Raises: SystemExit when a member was updated less than twice.
    """
    members: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for point in points:
        members[point["member"]].append((point["t"], point["frames"]))
    if not members or min(map(len, members.values())) < 2:
        counts = {
            name: len(updates_of_member) for name, updates_of_member in members.items()
        } or "none"
        raise SystemExit(
            f"updates in the measured time, by member: {counts}; expected two or more of each; "
            "measure longer with --seconds"
        )
    return list(members.values())


def speed(points: Sequence[dict[str, Any]]) -> float:
    """Frames per second. Raises: SystemExit when a member was updated less than twice."""
    return sum(
        (clock[-1][1] - clock[0][1]) / (clock[-1][0] - clock[0][0]) for clock in by_member(points)
    )


def resolution(points: Sequence[dict[str, Any]]) -> dict[str, float]:
    """How finely frames were counted.

    A speed is taken from one update to a later one, so its error is the delay of writing an update
    down.

    step_frames  fewest frames between two updates of a member
    step_s       longest time between two updates of a member
    measured_s   mean time from a member's first update to its last
    """
    members = by_member(points)
    pairs = [pair for clock in members for pair in pairwise(clock)]
    measured_s = statistics.fmean(clock[-1][0] - clock[0][0] for clock in members)
    return {
        "step_frames": min(f1 - f0 for (_, f0), (_, f1) in pairs),
        "step_s": max(t1 - t0 for (t0, _), (t1, _) in pairs),
        "measured_s": measured_s,
    }


def lag_figures(points: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Number of updates, and their policy lag."""
    mean, most = (
        statistics.fmean(point["lag_mean"] for point in points),
        max(point["lag_max"] for point in points),
    )
    return {"updates": len(points), "lag_mean": mean, "lag_max": most}


def shares(first: RunStatus, last: RunStatus) -> dict[str, dict[str, float]]:
    """Kind of process -> stage -> share of the time between two statuses.

    Shares are averaged over the processes of a kind.
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
    """Median, least and greatest."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summary(rounds: Sequence[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Case -> medians over the rounds. Ratios are taken within a round."""
    by_label: dict[str, Any] = {}
    first = next(iter(rounds[0]))
    for label in rounds[0]:
        runs = [measured[label] for measured in rounds]
        numbers = {name: spread([run[name] for run in runs]) for name in FIGURES}
        ratios = [
            measured[label]["frames_per_s"] / measured[first]["frames_per_s"] for measured in rounds
        ]
        kinds = {
            kind: {
                stage: statistics.median(
                    run["shares"].get(kind, {}).get(stage, 0.0) for run in runs
                )
                for stage in stages
            }
            for kind, stages in runs[0]["shares"].items()
        }
        by_label[label] = {
            **numbers,
            "ratio": spread(ratios),
            "processes": runs[0]["processes"],
            "shares": kinds,
        }
    return by_label


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
        help="seconds after the first updates that are not counted",
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
