"""The speed of this tree against that of another checkout, in pairs of interleaved trainings.

    git worktree add --detach /tmp/old v0.1.0
    python -m bench.against /tmp/old --config connect_four --json against.json

A pair trains both trees at once, as `arena train` does with league, metrics and checkpoints, but
only one of them runs at any moment: they take turns of `--turn` seconds, and the processes of the
other one are stopped. So both meet the same machine, whose speed may change by a tenth within
minutes. Both train the other checkout's config, since this tree reads what earlier versions wrote;
--this-set sets keys that only this tree knows. The number of a pair is its seed: trees that draw
games in other ways would otherwise meet the same luck in every pair. Pairs go on until the 95 %
interval of the ratio is narrow enough, or until `--most` pairs. The interval is Student's over the
logarithms of the pairs' ratios. Every pair is written to the file at once, and the same call goes
on from there. The other checkout needs its compiled libraries (`python hatch_build.py`). Run it
from the repository's root on a machine with nothing else to do.
"""

import argparse
import json
import math
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from scipy.stats import t as student

from bench.peer_runs import in_turn
from bench.placements import speed, updates
from bench.throughput import ROOT, hardware
from pbt.files import write_whole
from tests.e2e.faults import processes
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run

TREES = ("this", "other")
CONFIDENCE = 0.95
# A variance from fewer says nothing.
LEAST_PAIRS = 5


def interval(ratios: Sequence[float]) -> tuple[float, float, float]:
    """(geometric mean, low, high) of ratios this / other; two or more."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    half = float(student.ppf((1 + CONFIDENCE) / 2, len(logs) - 1)) * error
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def narrow(ratios: Sequence[float], half_width: float) -> bool:
    """The interval reaches no further than half_width from its middle, on a relative scale."""
    if len(ratios) < LEAST_PAIRS:
        return False
    middle, low, high = interval(ratios)
    return max(high / middle, middle / low) - 1 <= half_width


class Turns:
    """The moments at which one training could run, on the clock of `time.time`."""

    def __init__(self) -> None:
        self._turns: list[tuple[float, float]] = []

    def add(self, began_at: float, ended_at: float) -> None:
        """Note a turn. Turns are noted in their order."""
        self._turns.append((began_at, ended_at))

    def ran_s(self, at: float) -> float:
        """Seconds of turns up to a moment."""
        return sum(max(0.0, min(end, at) - begin) for begin, end in self._turns if begin < at)


class Training:
    """A training of one tree that is stopped but for its turns."""

    def __init__(self, folder: Path, tree: Path, seed: int, options: argparse.Namespace) -> None:
        config = (options.other / "configs" / f"{options.config}.toml").read_text(encoding="utf-8")
        self._run, self._turns = Run(folder, config, PYTHONPATH=str(tree)), Turns()
        self._pids: set[int] = set()
        always = f"seed={seed}", f"runtime.placement={options.placement}"
        own = options.this_settings if tree == ROOT else []
        self._run.start("stop_at_frames=1_000_000_000", *always, *options.settings, *own)

    def wait_until_it_trains(self) -> None:
        """Until its frames grow; then it is stopped."""
        start_growing(self._run)
        self._stop_all()

    def turn(self, seconds: float) -> None:
        """Let it run for a time."""
        began_at = time.time()
        self._signal(signal.SIGCONT)
        time.sleep(seconds)
        self._signal(signal.SIGSTOP)
        self._turns.add(began_at, time.time())
        self._stop_all()

    def frames_per_s(self, warmup_s: float) -> float:
        """Frames per second of turns, after the turns of the warm-up."""
        points = [
            {**point, "t": self._turns.ran_s(point["t"])}
            for point in updates(self._run, 0.0, time.time())
        ]
        return speed([point for point in points if point["t"] >= warmup_s])

    def close(self) -> None:
        """End it, and remove what it wrote."""
        self._stop_all()
        self._signal(signal.SIGCONT)
        self._run.close()
        self._run.remove()

    def _stop_all(self) -> None:
        """Stop the processes that began meanwhile, too.

        To find them takes a tenth of a second, which belongs to no turn.
        """
        while self._pids != (found := set(processes.of_run(self._run.mark, self._run.pid))):
            self._pids = found
            self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def pair(number: int, trees: dict[str, Path], options: argparse.Namespace) -> dict[str, Any]:
    """Frames a second of both trees and their ratio.

    number  from 1, and the seed; odd ones begin with this tree
    """
    order = in_turn(TREES, number)
    with tempfile.TemporaryDirectory(prefix="against-") as folder, ExitStack() as trainings:
        by_name: dict[str, Training] = {}
        for name in order:
            by_name[name] = Training(Path(folder) / name, trees[name], number, options)
            trainings.callback(by_name[name].close)
            by_name[name].wait_until_it_trains()
        for _ in range(math.ceil((options.warmup + options.seconds) / options.turn)):
            for name in order:
                by_name[name].turn(options.turn)
        rates = {name: by_name[name].frames_per_s(options.warmup) for name in TREES}
    return {**rates, "ratio": rates["this"] / rates["other"]}


def report(plan: dict[str, Any], pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is stored: the plan, every pair, and what they come to."""
    found: dict[str, Any] = {"plan": plan, "pairs": list(pairs)}
    if len(pairs) > 1:
        ratio, low, high = interval([one["ratio"] for one in pairs])
        found["ratio"] = {"mean": ratio, "low": low, "high": high}
        found["frames_per_s"] = {
            name: statistics.median(one[name] for one in pairs) for name in TREES
        }
    return found


def earlier(path: Path | None, plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Pairs of a call that was cut off. Raises: SystemExit when the file is of another plan."""
    if path is None or not path.exists():
        return []
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored["plan"] != plan:
        raise SystemExit(
            f"{path}: found pairs of another plan, {stored['plan']}; expected {plan}; "
            "name another file with --json, or remove this one"
        )
    return list(stored["pairs"])


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, help="root of the other checkout")
    parser.add_argument("--config", default="connect_four")
    parser.add_argument("--placement", default="inline")
    parser.add_argument("--seconds", type=float, default=20.0, help="of turns, measured")
    parser.add_argument("--warmup", type=float, default=5.0)
    parser.add_argument("--turn", type=float, default=1.0, help="seconds of one turn")
    parser.add_argument("--half-width", type=float, default=0.02, help="of the interval, relative")
    parser.add_argument("--most", type=int, default=60, help="pairs, at most")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument(
        "--this-set", action="append", default=[], metavar="KEY=VALUE", dest="this_settings"
    )
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args()


def main() -> int:
    """Returns 1 when this tree is slower: its whole interval lies below 1."""
    options = parsed()
    # Without it SIGTERM ends this program at once, and its trainings go on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    trees = {"this": ROOT, "other": options.other.resolve()}
    if not (trees["other"] / "pbt/native/elu.so").exists():
        raise SystemExit(f"{trees['other']}: found no compiled libraries; run hatch_build.py there")
    names = ("config", "placement", "seconds", "warmup", "turn", "settings", "this_settings")
    plan = {**{name: getattr(options, name) for name in names}, **hardware()}
    pairs = earlier(options.json, plan)
    while len(pairs) < options.most and not narrow([p["ratio"] for p in pairs], options.half_width):
        pairs.append(pair(len(pairs) + 1, trees, options))
        found = report(plan, pairs)
        if options.json is not None:
            write_whole(options.json, json.dumps(found, indent=1) + "\n")
        shown = found.get("ratio", {})
        print(
            f"pair {len(pairs)}: {pairs[-1]['this']:,.0f} and {pairs[-1]['other']:,.0f} frames/s, "
            f"{pairs[-1]['ratio']:.3f}; so far "
            + " ".join(f"{name} {value:.4f}" for name, value in shown.items()),
            flush=True,
        )
    ratio = report(plan, pairs).get("ratio")
    return int(ratio is not None and ratio["high"] < 1)


if __name__ == "__main__":
    sys.exit(main())
