"""What a training of duels survives: engines, matches and workers killed and stopped, ports taken, engines that never connect.

    python -m bench.doom_faults --faults 200 --json doom_faults.json

One training of configs/doom_duel.toml, struck from outside by faults of every kind in random order, one after the other:
  kill/stop engine, match    SIGKILL, or SIGSTOP for good, of an engine or of the process that holds a match
  kill worker                SIGKILL; the sampling plane starts again
  take port                  a stranger binds the port that a starting match has chosen, before its engine does
  no connection              an engine of a starting match stands still before it has met the other one
Reported for each kind, as median and greatest: after how many seconds what was struck was gone, and after how many the training made as many rows a
second as before. That speed is the mean over --window seconds; "as before" is 95 % of the median over undisturbed windows, one before each fault.
Row "none" is the same question asked of undisturbed moments: what of the figure is noise.

`late` counts faults that took longer than allowed. What is stopped may live for its deadline (env.options.deadline_s, start_deadline_s) and --turn
seconds more, for a worker that is learning when it is struck; speed must be back within --limit seconds, --worker-limit for a worker. At the end the
training is stopped, and: nothing of it may be left; every game that was seen committed must be in the league exactly once; `arena rounds verify` must
agree; no voided game may be scored; rows must add up. Exit code 1 when anything is wrong. Run it from the repository's root on an idle machine; 200
faults take some 80 minutes. Progress goes to stderr.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.throughput import hardware
from tests.e2e.faults.campaign import ended_well
from tests.e2e.faults.match_strikes import FAULTS, MatchStrike, strike_match, voided_since
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run

SETTINGS = (
    "stop_at_frames=1_000_000_000", "runtime.max_restarts=100_000", "checkpoints.every_s=30", "evaluation.final_games=0",
    "pbt.period_frames=100_000", "pbt.warmup_frames=100_000", "snapshots.every_frames=100_000",
)  # fmt: skip
SHARE = 0.95
POLL_S, STEP_S = 0.2, 0.25
NONE = "none"


class Speed:
    """Rows of experience that a run has made, over time, looked at from a thread of its own."""

    def __init__(self, run: Run) -> None:
        self._run, self._closing = run, threading.Event()
        # time.monotonic() of the status, rows
        self._times: list[float] = []
        self._rows: list[int] = []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        offset_s = time.monotonic() - time.time()
        while not self._closing.wait(POLL_S):
            status = self._run.status()
            if status is not None and (not self._times or status.written_at + offset_s > self._times[-1]):
                self._rows.append(status.rows.produced)
                self._times.append(status.written_at + offset_s)

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    @property
    def seen_until_s(self) -> float:
        return self._times[-1] if self._times else 0.0

    def rows_at(self, at_s: float) -> float:
        """Between two looks as if they had come evenly."""
        after = min(max(1, bisect_left(self._times, at_s)), len(self._times) - 1)
        (t0, t1), (r0, r1) = self._times[after - 1 : after + 1], self._rows[after - 1 : after + 1]
        return r0 + (r1 - r0) * (at_s - t0) / (t1 - t0)

    def rate(self, begin_s: float, window_s: float) -> float:
        """Rows a second."""
        return (self.rows_at(begin_s + window_s) - self.rows_at(begin_s)) / window_s

    def back_after(self, since_s: float, limit_s: float, window_s: float, wanted: float) -> float:
        """Seconds until a window begins that is as fast as wanted; infinite when none does within the limit."""
        steps = range(int(limit_s / STEP_S) + 1)
        return next((step * STEP_S for step in steps if self.rate(since_s + step * STEP_S, window_s) >= wanted), float("inf"))


@dataclass(frozen=True)
class Told:
    """A fault and what came of it. back_s: until the speed was as before."""

    fault: str
    gone_s: float
    back_s: float


def wait_until(speed: Speed, at_s: float) -> None:
    """Until the run has told of that moment."""
    while speed.seen_until_s < at_s:
        time.sleep(POLL_S)


def struck(run: Run, options: argparse.Namespace, strikes: list[MatchStrike], speed: Speed) -> None:
    """All faults, one after the other, each with an undisturbed window before it."""
    rng = random.Random(options.seed)
    faults = [options.kinds[number % len(options.kinds)] for number in range(options.faults)]
    rng.shuffle(faults)
    for fault in faults:
        time.sleep(options.calm + options.window + rng.uniform(0.0, 1.0))  # undisturbed, and when it strikes is the campaign's input
        strikes.append(strike_match(run, fault, rng, 2 * run.tables()))
        reasons = Counter(reason[:90] for reason in strikes[-1].reasons)
        say(f"{len(strikes)}/{len(faults)} {fault}: gone after {strikes[-1].gone_s:.2f} s; {dict(reasons)}")
        wait_until(speed, strikes[-1].struck_s + allowed_back_s(fault, options) + options.window)


def told(strikes: Sequence[MatchStrike], speed: Speed, options: argparse.Namespace) -> tuple[list[Told], float]:
    """With one of `NONE` for each, and the usual speed in rows a second."""
    before_s = [strike.struck_s - options.window for strike in strikes]
    usual = statistics.median(speed.rate(at_s, options.window) for at_s in before_s)
    found = []
    for strike, at_s in zip(strikes, before_s, strict=True):
        limit_s = allowed_back_s(strike.fault, options)
        found.append(Told(strike.fault, strike.gone_s, speed.back_after(strike.struck_s, limit_s, options.window, SHARE * usual)))
        found.append(Told(NONE, 0.0, speed.back_after(at_s - options.calm, options.calm, options.window, SHARE * usual)))
    return found, usual


def allowed_back_s(fault: str, options: argparse.Namespace) -> float:
    return float(options.worker_limit if fault == "kill worker" else options.limit)


def allowed_gone_s(fault: str, run: Run, options: argparse.Namespace) -> float:
    game = json.loads(run.paths.config.read_text(encoding="utf-8"))["env"]["options"]
    deadline_s = {"stop engine": game.get("deadline_s", 3.0), "stop match": game.get("deadline_s", 3.0)}
    starts_s = dict.fromkeys(("take port", "no connection"), game.get("start_deadline_s", 8.0))
    return float({**deadline_s, **starts_s}.get(fault, 0.0) + (options.worker_limit if fault == "kill worker" else options.turn))


def table(found: Sequence[Told], run: Run, options: argparse.Namespace) -> dict[str, dict[str, float | None]]:
    """By fault. Seconds that are none (the speed did not come back) are null."""
    by_fault: defaultdict[str, list[Told]] = defaultdict(list)
    for one in found:
        by_fault[one.fault].append(one)
    return {fault: figures_of(fault, mine, run, options) for fault, mine in sorted(by_fault.items())}


def figures_of(fault: str, mine: Sequence[Told], run: Run, options: argparse.Namespace) -> dict[str, float | None]:
    gone, back = [one.gone_s for one in mine], [one.back_s for one in mine]
    return {
        "count": len(mine),
        "gone_median_s": statistics.median(gone),
        "gone_max_s": max(gone),
        "gone_late": sum(seconds > allowed_gone_s(fault, run, options) for seconds in gone),
        "back_median_s": finite(statistics.median(back)),
        "back_max_s": finite(max(back)),
        "back_late": sum(seconds == float("inf") for seconds in back),
    }


def finite(seconds: float) -> float | None:
    return None if seconds == float("inf") else seconds


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The whole campaign; what went wrong is part of the result."""
    run = Run(folder, Path("configs/doom_duel.toml").read_text(encoding="utf-8"))
    strikes: list[MatchStrike] = []
    failure, checks, began_s = None, dict[str, list[str]](), time.monotonic()
    speed = Speed(run)
    try:
        run.start(*SETTINGS, *options.settings)
        say(f"every member learned after {start_growing(run):.1f} s")
        time.sleep(options.warmup)
        struck(run, options, strikes, speed)
        code = run.stop()
        checks = {"ends with exit code 0": [] if code == 0 else [f"exit code {code}: {run.errors()[-500:]}"], **ended_well(run)}
    except AssertionError as error:
        failure = str(error)
        say(f"FAILED after {len(strikes)} faults: {failure}")
    finally:
        speed.close()
        run.close()
    found, usual = told(strikes, speed, options) if strikes else ([], 0.0)
    voided = Counter(reason.split(": ", 2)[-1].split(";")[0][:80] for reason in voided_since(run, 0)) if strikes else Counter[str]()
    counts = {"usual_rows_per_s": usual, "acknowledged_games": run.log.games, "voided": dict(voided), "seconds": time.monotonic() - began_s}
    return {"faults": table(found, run, options) if found else {}, "checks": checks, "failure": failure, **counts}


def lines(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    found = [f"{report['seconds']:.0f} s, {report['acknowledged_games']} acknowledged games, {report['usual_rows_per_s']:.0f} rows/s undisturbed"]
    found.append(f"  {'fault':<15}{'count':>6}{'gone: median':>14}{'max s':>8}{'late':>6}{'back: median':>14}{'max s':>8}{'late':>6}")
    for fault, figures in report["faults"].items():
        gone, back = (f"{shown(figures[f'{what}_median_s']):>14}{shown(figures[f'{what}_max_s']):>8}" for what in ("gone", "back"))
        found.append(f"  {fault:<15}{figures['count']:>6}{gone}{figures['gone_late']:>6}{back}{figures['back_late']:>6}")
    found += [f"  {'ok    ' if not wrong else 'WRONG '} {check}{'' if not wrong else f': {wrong}'}" for check, wrong in report["checks"].items()]
    return found + ([f"  FAILED {report['failure'].splitlines()[0]}"] if report["failure"] else [])


def shown(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=200, help="in all, as many of each kind")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--window", type=float, default=5.0, help="seconds over which a speed is taken")
    parser.add_argument("--calm", type=float, default=3.0, help="undisturbed seconds between the end of one fault's windows and the next fault's")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds until the training must be as fast as before")
    parser.add_argument("--worker-limit", type=float, default=15.0, help="the same, of a worker")
    parser.add_argument("--turn", type=float, default=2.0, help="seconds that a worker may be busy with something else before it looks at a match")
    parser.add_argument("--warmup", type=float, default=30.0, help="seconds of training before the first fault")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="of the configuration")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="doom-faults-", ignore_cleanup_errors=True) as folder:
        report = measure(Path(folder) / "run", options)
    settings = {name: value for name, value in vars(options).items() if name != "json"}
    report = {"hardware": hardware(), "settings": settings, **report}
    print("\n".join(lines(report)))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    late = sum((row["gone_late"] or 0) + (row["back_late"] or 0) for fault, row in report["faults"].items() if fault != NONE)
    if report["failure"] or late or any(report["checks"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
