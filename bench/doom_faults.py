"""What a training of duels survives: engines, matches and workers killed and stopped, ports taken, engines that never connect.

    python -m bench.doom_faults --faults 200 --json doom_faults.json

One training of configs/doom_duel.toml, struck from outside by faults of every kind in random order, one after the other:
  kill/stop engine, match    SIGKILL, or SIGSTOP for good, of an engine or of the process that holds a match
  kill worker                SIGKILL; the sampling plane starts again
  take port                  a stranger binds the port that a starting match has chosen, before its engine does
  no connection              an engine of a starting match stands still before it has met the other one
Reported for each kind, as median and greatest, in seconds:
  gone     until what was struck was gone
  whole    from then until as many engines stood as before
  back     from then until the training made as many rows a second as usual
  stalled  from the first blow until then; for the last two kinds that is the end of the running match that makes another one start
and as a mean with its interval of 95 %: after, the speed from --limit seconds (--worker-limit for a worker) after the effect on, for --hold seconds,
over that of the --hold seconds before the fault; a loss that stays from fault to fault it cannot show, since what is before one came after another.
Of the last two kinds also how many matches were ended, and how many of the next ones had started before they could be struck.

The usual speed is the median of that before each fault; it is reached where the mean over --window seconds is 95 % of it, and the mean from there
to the end of all that is watched, too. Machines are not equally fast from one second to the next, so row "none" asks all this of as many undisturbed
moments as each kind has faults: how often they are "back" too late is what of it is noise.

Wrong is what is gone or whole later than allowed; a kind that leaves the training below 95 %; and one that is back too late more often than
undisturbed moments are (Fisher's exact test, one-sided, 1 %). What is stopped may live for its deadline (env.options.deadline_s,
start_deadline_s) and --turn seconds more, for a worker that is learning when it is struck. At the end the training is stopped, and: nothing of it
may be left; every game that was seen committed must be in the league exactly once; `arena rounds verify` must agree; no voided game may be
scored; rows must add up. Exit code 1 when anything is wrong. Run it from the repository's root on an idle machine; 200 faults take some 90
minutes. Progress goes to stderr.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from scipy.stats import fisher_exact

from arena.statistics import mean_interval
from bench.recovered_speed import NEVER, RowsMade, back_after
from bench.throughput import hardware
from pbt.config.load import find_config
from tests.e2e.faults.campaign import ended_well
from tests.e2e.faults.match_strikes import FAULTS, MatchStrike, strike_match, voided_since
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run

SETTINGS = (
    "stop_at_frames=1_000_000_000", "runtime.max_restarts=100_000", "evaluation.final_games=0",
    "pbt.period_frames=100_000", "pbt.warmup_frames=100_000",
)  # fmt: skip
SHARE = 0.95
POLL_S = 0.2
WIDTH = 15
# A status comes every second or so.
STATUS_LIMIT_S = 60.0
NONE = "none"
MEASURED = ("gone", "whole", "back", "stalled")
LATE = {"gone": "gone too late", "whole": "without all its engines for too long"}
# Below it, a kind is late more often than undisturbed moments are.
CHANCE = 0.01


class Speed:
    """Rows of experience that a run has made, over time, looked at from a thread of its own."""

    def __init__(self, run: Run) -> None:
        self._run, self._closing = run, threading.Event()
        # time.monotonic() of the status, rows
        self._times: list[float] = []
        self._rows: list[int] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._look, name="speed", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.set()
        self._thread.join(30.0)

    def _look(self) -> None:
        offset_s = time.monotonic() - time.time()
        try:
            while not self._closing.wait(POLL_S):
                status = self._run.status()
                if status is not None and (not self._times or status.written_at + offset_s > self._times[-1]):
                    self._rows.append(status.rows.produced)
                    self._times.append(status.written_at + offset_s)
        except BaseException as error:  # noqa: BLE001  who waits for what it sees raises it
            self._error = error

    def seen_until(self, at_s: float) -> bool:
        """Whether the run has told of that moment. Raises: AssertionError when nobody looks any more."""
        if self._error is not None:
            raise AssertionError(f"looking at the training failed: {self._error}") from self._error
        return bool(self._times) and self._times[-1] >= at_s

    def made(self) -> RowsMade:
        """So far."""
        looks = len(self._times)
        return RowsMade(self._times[:looks], self._rows[:looks])


@dataclass(frozen=True)
class Told:
    """A fault and what came of it.

    gone_s     until what was struck was gone;  whole_s: from then until all engines stood;  back_s: until the speed was as usual
    stalled_s  that since the first blow
    after      speed when it should be back, as a share of that before
    ended      matches that were ended so that another one starts;  missed: of these others, those that were struck too late
    """

    fault: str
    gone_s: float
    whole_s: float
    back_s: float
    stalled_s: float
    after: float
    ended: int
    missed: int


def wait_until(run: Run, speed: Speed, at_s: float, limit_s: float = STATUS_LIMIT_S) -> None:
    """Until the run has told of that moment, so long after it at most. Raises: AssertionError."""
    run.until(lambda: speed.seen_until(at_s) or None, max(0.0, at_s - time.monotonic()) + limit_s, "a status of that moment")


def drawn(rng: random.Random, count: int, kinds: Sequence[str]) -> list[str]:
    """So many faults, as many of each kind, and as many undisturbed moments, in random order."""
    faults = [kinds[number % len(kinds)] for number in range(count)] + [NONE] * -(-count // len(kinds))
    rng.shuffle(faults)
    return faults


def struck(run: Run, options: argparse.Namespace, strikes: list[MatchStrike], speed: Speed) -> None:
    """All faults, one after the other. The end of what is watched of one is undisturbed, and so what comes before the next."""
    rng = random.Random(options.seed)
    faults = drawn(rng, options.faults, options.kinds)
    for fault in faults:
        time.sleep(rng.uniform(0.0, 1.0))  # when it strikes is the campaign's input
        now_s = time.monotonic()
        strikes.append(MatchStrike(NONE, now_s, now_s, 0.0, ()) if fault == NONE else strike_match(run, fault, rng, 2 * run.tables()))
        reasons = Counter(reason[:90] for reason in strikes[-1].reasons)
        say(f"{len(strikes)}/{len(faults)} {fault}: gone after {strikes[-1].gone_s:.2f} s, whole after {strikes[-1].whole_s:.2f} s; {dict(reasons)}")
        wait_until(run, speed, watched_until_s(strikes[-1], options))


def watched_until_s(strike: MatchStrike, options: argparse.Namespace) -> float:
    return strike.effect_s + allowed_back_s(strike.fault, options) + float(options.hold)


def told(strikes: Sequence[MatchStrike], made: RowsMade, options: argparse.Namespace) -> tuple[list[Told], float]:
    """Of those that were watched to their end, and the usual speed in rows a second."""
    watched = [strike for strike in strikes if made.times_s and watched_until_s(strike, options) <= made.times_s[-1]]
    if not watched:
        return [], 0.0
    before = [made.rate(strike.began_s - options.hold, strike.began_s) for strike in watched]
    usual, found = statistics.median(before), []
    for strike, before_it in zip(watched, before, strict=True):
        limit_s = allowed_back_s(strike.fault, options)
        back_s = back_after(made, strike.effect_s, limit_s, options.hold, options.window, SHARE * usual)
        after = made.rate(strike.effect_s + limit_s, watched_until_s(strike, options)) / before_it
        stalled_s = strike.effect_s - strike.began_s + back_s
        found.append(Told(strike.fault, strike.gone_s, strike.whole_s, back_s, stalled_s, after, strike.ended, strike.missed))
    return found, usual


def allowed_back_s(fault: str, options: argparse.Namespace) -> float:
    return float(options.worker_limit if fault == "kill worker" else options.limit)


def allowed_gone_s(fault: str, run: Run, options: argparse.Namespace) -> float:
    game = json.loads(run.paths.config.read_text(encoding="utf-8"))["env"]["options"]
    deadline_s = {"stop engine": game.get("deadline_s", 3.0), "stop match": game.get("deadline_s", 3.0)}
    starts_s = dict.fromkeys(("take port", "no connection"), game.get("start_deadline_s", 8.0))
    return float({**deadline_s, **starts_s}.get(fault, 0.0) + options.turn)


def table(found: Sequence[Told], run: Run, options: argparse.Namespace) -> dict[str, dict[str, float | None]]:
    """By fault. Seconds that are none (the speed did not come back) are null."""
    by_fault: defaultdict[str, list[Told]] = defaultdict(list)
    for one in found:
        by_fault[one.fault].append(one)
    allowed = {fault: {"gone": allowed_gone_s(fault, run, options), "whole": allowed_back_s(fault, options)} for fault in by_fault}
    return {fault: figures_of(mine, **allowed[fault]) for fault, mine in sorted(by_fault.items())}


def figures_of(mine: Sequence[Told], gone: float, whole: float) -> dict[str, float | None]:
    """Of one kind. gone, whole: seconds that are allowed for it."""
    seconds = {what: [getattr(one, f"{what}_s") for one in mine] for what in MEASURED}
    medians = {f"{what}_median_s": finite(statistics.median(taken)) for what, taken in seconds.items()}
    greatest = {f"{what}_max_s": finite(max(taken)) for what, taken in seconds.items()}
    limits_s = {"gone": gone, "whole": whole, "back": sys.float_info.max}
    late = {f"{what}_late": sum(taken > limit_s for taken in seconds[what]) for what, limit_s in limits_s.items()}
    low, high = mean_interval([one.after for one in mine]) or (None, None)
    after = {"after_mean": statistics.fmean(one.after for one in mine), "after_low": low, "after_high": high}
    counts = {"matches_ended_before": sum(one.ended for one in mine), "starts_missed": sum(one.missed for one in mine)}
    return {"count": len(mine), **medians, **greatest, **late, **after, **counts}


def complaints(faults: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is not as it must be, by kind of fault. An undisturbed moment has no faults."""
    found, calm = [], faults.get(NONE)
    for fault, figures in faults.items():
        if fault == NONE:
            continue
        found += [f"{fault}: {figures[f'{what}_late']} of {figures['count']} {words}" for what, words in LATE.items() if figures[f"{what}_late"]]
        if figures["after_mean"] < SHARE:
            found.append(f"{fault}: afterwards {100 * figures['after_mean']:.1f} % of the speed before")
        if calm is not None and more_often_late(figures, calm):
            late = " and ".join(f"{one['back_late']} of {one['count']}" for one in (figures, calm))
            found.append(f"{fault}: more often not as fast as usual in time than undisturbed moments: {late}")
    return found


def more_often_late(figures: Mapping[str, Any], calm: Mapping[str, Any]) -> bool:
    """Back too late, beyond chance."""
    rows = [[one["back_late"], one["count"] - one["back_late"]] for one in (figures, calm)]
    return float(fisher_exact(rows, alternative="greater").pvalue) < CHANCE


def finite(seconds: float) -> float | None:
    return None if seconds == NEVER else seconds


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The whole campaign; what went wrong is part of the result."""
    run = Run(folder, find_config("doom_duel").read_text(encoding="utf-8"))
    strikes: list[MatchStrike] = []
    failure, checks, began_s = None, dict[str, list[str]](), time.monotonic()
    speed = Speed(run)
    try:
        with speed:
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
        run.close()
    found, usual = told(strikes, speed.made(), options)
    voided = Counter(reason.split(": ", 2)[-1].split(";")[0][:80] for reason in voided_since(run, 0)) if strikes else Counter[str]()
    counts = {"usual_rows_per_s": usual, "acknowledged_games": run.log.games, "voided": dict(voided), "seconds": time.monotonic() - began_s}
    faults = table(found, run, options)
    each = [{name: finite(value) if isinstance(value, float) else value for name, value in asdict(one).items()} for one in found]
    return {"faults": faults, "complaints": complaints(faults), "checks": checks, "failure": failure, **counts, "each": each}


def lines(report: dict[str, Any]) -> list[str]:
    """The report for people; seconds as median / greatest."""
    found = [f"{report['seconds']:.0f} s, {report['acknowledged_games']} acknowledged games, {report['usual_rows_per_s']:.0f} rows/s before faults"]
    heads = "".join(f"{what:>{WIDTH}}" for what in MEASURED)
    found.append(f"  {'fault':<15}{'count':>6}{heads}{'back late':>11}{'after':>26}{'ended':>7}{'missed':>8}")
    for fault, figures in report["faults"].items():
        seconds = "".join(f"{shown(figures[f'{what}_median_s'])} / {shown(figures[f'{what}_max_s'])}".rjust(WIDTH) for what in MEASURED)
        interval = "" if figures["after_low"] is None else f" [{figures['after_low']:.1%}, {figures['after_high']:.1%}]"
        after = f"{figures['after_mean']:.1%}{interval}"
        counts = f"{figures['back_late']:>11}{after:>26}{figures['matches_ended_before']:>7}{figures['starts_missed']:>8}"
        found.append(f"  {fault:<15}{figures['count']:>6}{seconds}{counts}")
    found += [f"  WRONG  {complaint}" for complaint in report["complaints"]]
    found += [f"  {'ok    ' if not wrong else 'WRONG '} {check}{'' if not wrong else f': {wrong}'}" for check, wrong in report["checks"].items()]
    return found + ([f"  FAILED {report['failure'].splitlines()[0]}"] if report["failure"] else [])


def shown(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=200, help="in all, as many of each kind; with as many undisturbed moments")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--window", type=float, default=5.0, help="seconds over which a speed is taken")
    parser.add_argument("--hold", type=float, default=10.0, help="seconds over which the speed is taken before a fault, and after the time allowed")
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
    if report["failure"] or report["complaints"] or any(report["checks"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
