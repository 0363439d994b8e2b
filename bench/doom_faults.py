"""What a training of duels survives: engines, matches and workers killed and stopped, ports taken,
engines that never connect.

    python -m bench.doom_faults --faults 200 --json doom_faults.json

One training of configs/doom_duel.toml, struck from outside by faults of every kind in random order,
one after the other:
  kill/stop engine, match    SIGKILL, or SIGSTOP for good, of an engine or of the process that holds
                             a match
  kill worker                SIGKILL; the sampling plane starts again
  take port                  a stranger binds the port that a starting match has chosen, before its
                             engine does
  no connection              an engine of a starting match stands still before it has met the other
                             one
Reported for each kind:
  gone      seconds until what was struck was gone
  whole     from then until as many engines stood as before; both as median, greatest and allowed
  at first  speed from the first blow until --limit seconds after it (--worker-limit for a worker),
            over that of undisturbed moments
  after     the same for the --hold seconds from then on, with its interval of 95 %
Of the last two kinds also how many matches were ended, and how many of the next ones had started
before they could be struck.

The speed is rows of experience a second. Undisturbed moments are --rests stretches of --rest
seconds, each beginning --apart seconds after the effect of the last fault or later. They and the
faults of each kind come at random, one in each part of the campaign, so that what changes as a
training goes on meets all alike. A loss that lasts longer than that is in undisturbed moments, too,
so the training is watched for --calm seconds before the first one, after the last one, and after
that when it was stopped and resumed.

Wrong is what is gone or whole later than allowed, and:
  all faults   a lower end of the interval of "after" below 95 %
  a kind       an "after" below 95 %, and beyond chance below 100 % (an interval of 95 % for all
               kinds together)
  for good     the same of the minutes after all faults beside those when it was resumed, or of
               undisturbed moments beside these and those before
So much is left to chance that a training that loses nothing would be complained of in about one
campaign of thirteen (9 of 120 simulated ones,
speeds differing by 13 % from ten seconds to the next): better so than the other way round.
What is stopped stays so; it may live for its deadline (env.options.deadline_s, start_deadline_s)
and --turn seconds more, for a worker that is
learning when it is struck. Whenever the training is stopped, nothing of it may be left; at the end
also every game that was seen committed must be
in the league exactly once, `arena rounds verify` must agree, no voided game may be scored, each
match that was lost, and nothing else, must have
voided one game, rows must add up, and there must have been games, rounds, rows and voided games to
ask this of. Exit code 1 when anything is wrong.
Run it from the repository's root on an idle machine; 200 faults take some 100 minutes. Progress
goes to stderr; every moment and every look at the
speed are in the JSON.
"""

import argparse
import json
import math
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arena.data.paths import league_path
from bench.fault_figures import NONE, Allowed, Campaign, Moment, complaints, lines, speeds, table
from bench.recovered_speed import RowsMade
from bench.throughput import hardware, settings_of
from pbt.config.load import find_config
from tests.e2e.faults.campaign import ended_well
from tests.e2e.faults.league_log import reading
from tests.e2e.faults.match_strikes import FAULTS, MatchStrike, strike_match, voided_since
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run

SETTINGS = (
    "stop_at_frames=1_000_000_000", "runtime.max_restarts=100_000", "evaluation.final_games=0",
    "pbt.period_frames=100_000", "pbt.warmup_frames=100_000",
)  # fmt: skip
POLL_S = 0.2
# A status comes every second or so.
STATUS_LIMIT_S = 60.0


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._thread.join(30.0)

    def _look(self) -> None:
        offset_s = time.monotonic() - time.time()
        try:
            while not self._closing.wait(POLL_S):
                status = self._run.status()
                if status is not None and (
                    not self._times or status.written_at + offset_s > self._times[-1]
                ):
                    self._rows.append(status.rows.produced)
                    self._times.append(status.written_at + offset_s)
        except BaseException as error:  # noqa: BLE001  who waits for what it sees raises it
            self._error = error

    def seen_until(self, at_s: float) -> bool:
        """Whether the run has told of that moment. Raises: AssertionError when nobody looks any
        more.
        """
        if self._error is not None:
            raise AssertionError(f"looking at the training failed: {self._error}") from self._error
        return bool(self._times) and self._times[-1] >= at_s

    def made(self) -> RowsMade:
        """So far."""
        looks = len(self._times)
        return RowsMade(self._times[:looks], self._rows[:looks])


def wait_until(run: Run, speed: Speed, at_s: float, limit_s: float = STATUS_LIMIT_S) -> None:
    """Until the run has told of that moment, so long after it at most. Raises: AssertionError."""
    run.until(
        lambda: speed.seen_until(at_s) or None,
        max(0.0, at_s - time.monotonic()) + limit_s,
        "a status of that moment",
    )


def drawn(rng: random.Random, count: int, rests: int, kinds: Sequence[str]) -> list[str]:
    """So many faults, as many of each kind, and undisturbed moments, in order: of a kind's n,
    one anywhere in each n-th part of the campaign.
    """
    counts = Counter([kinds[number % len(kinds)] for number in range(count)]) + Counter(
        {NONE: rests}
    )
    placed = [
        ((number + rng.random()) / n, fault) for fault, n in counts.items() for number in range(n)
    ]
    return [fault for _, fault in sorted(placed)]


def struck(run: Run, options: argparse.Namespace, strikes: list[MatchStrike], speed: Speed) -> None:
    """All faults and undisturbed moments, one after the other, each watched to its end."""
    rng = random.Random(options.seed)
    faults = drawn(rng, options.faults, options.rests, options.kinds)
    for fault in faults:
        time.sleep(rng.uniform(0.0, 1.0))  # when it strikes is the campaign's input
        strikes.append(
            rested(options, strikes)
            if fault == NONE
            else strike_match(run, fault, rng, 2 * run.tables())
        )
        reasons = Counter(reason[:90] for reason in strikes[-1].reasons)
        say(
            f"{len(strikes)}/{len(faults)} {fault}: gone after {strikes[-1].gone_s:.2f} s, "
            f"whole after {strikes[-1].whole_s:.2f} s; {dict(reasons)}"
        )
        wait_until(run, speed, watched_s(strikes[-1], options)[1])


def rested(options: argparse.Namespace, strikes: Sequence[MatchStrike]) -> MatchStrike:
    """A moment without a fault, as soon as the last one is long enough ago."""
    last_s = max((strike.effect_s for strike in strikes if strike.fault != NONE), default=-math.inf)
    time.sleep(max(0.0, last_s + options.apart - time.monotonic()))
    now_s = time.monotonic()
    return MatchStrike(NONE, now_s, now_s, 0.0, ())


def watched_s(strike: MatchStrike, options: argparse.Namespace) -> tuple[float, float]:
    """The moments between which a training must be as fast as without the fault."""
    if strike.fault == NONE:
        return strike.began_s, strike.began_s + options.rest
    begin_s = strike.began_s + allowed_back_s(strike.fault, options)
    return begin_s, begin_s + options.hold


def calm(run: Run, options: argparse.Namespace, speed: Speed) -> list[tuple[float, float]]:
    """Minutes without a fault, after a start or the last one of all, in pieces: their begins and
    ends.
    """
    say(
        f"every member learned after {start_growing(run):.1f} s; {options.calm:g} s without "
        f"a fault after {options.warmup:g} s"
    )
    begin_s = time.monotonic() + options.warmup
    edges_s = [
        begin_s + piece * options.rest for piece in range(int(options.calm / options.rest) + 1)
    ]
    wait_until(run, speed, edges_s[-1])
    return list(pairwise(edges_s))


def moment(
    strike: MatchStrike, made: RowsMade, options: argparse.Namespace, since_s: float
) -> Moment:
    """What the figures need of it."""
    begin_s, end_s = watched_s(strike, options)
    at_first = None if strike.fault == NONE else made.rate(strike.began_s, begin_s)
    mine = {"ended": strike.ended, "missed": strike.missed, "reasons": strike.reasons}
    return Moment(
        strike.fault,
        strike.began_s - since_s,
        strike.gone_s,
        strike.whole_s,
        at_first,
        made.rate(begin_s, end_s),
        **mine,
    )


def allowed_back_s(fault: str, options: argparse.Namespace) -> float:
    return float(options.worker_limit if fault == "kill worker" else options.limit)


def allowed(run: Run, options: argparse.Namespace) -> Allowed:
    """By the deadlines of a match; what is killed may live for a turn only."""
    game = json.loads(run.paths.config.read_text(encoding="utf-8"))["env"]["options"]
    deadline_s, start_s = game.get("deadline_s", 3.0), game.get("start_deadline_s", 8.0)
    deadlines = {
        "stop engine": deadline_s,
        "stop match": deadline_s,
        "take port": start_s,
        "no connection": start_s,
    }
    gone = {fault: deadlines.get(fault, 0.0) + options.turn for fault in FAULTS}
    return Allowed(gone, {fault: allowed_back_s(fault, options) for fault in FAULTS})


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The whole campaign; what went wrong is part of the result."""
    run = Run(folder, find_config("doom_duel").read_text(encoding="utf-8"))
    strikes, voided, watched = list[MatchStrike](), list[str](), list[list[tuple[float, float]]]()
    failure, checks, began_s = None, dict[str, list[str]](), time.monotonic()
    speed = Speed(run)
    try:
        with speed:
            run.start(*SETTINGS, *options.settings)
            watched.append(calm(run, options, speed))
            struck(run, options, strikes, speed)
            watched.append(calm(run, options, speed))
            # The games that run while a training is stopped are void, too.
            voided = voided_since(run, 0)
            codes, left = [run.stop()], run.left_behind()
            run.resume()
            watched.append(calm(run, options, speed))
            codes.append(run.stop())
        checks = {
            "ends with exit code 0, twice": [
                f"exit code {code}: {run.errors()[-500:]}" for code in codes if code
            ]
        }
        checks |= {"leaves nothing when it is stopped to be resumed": left, **ended_well(run)}
    except AssertionError as error:
        failure = str(error)
        say(f"FAILED after {len(strikes)} faults: {failure}")
    finally:
        run.close()
    made = speed.made()
    seen = [
        strike
        for strike in strikes
        if made.times_s and watched_s(strike, options)[1] <= made.times_s[-1]
    ]
    rates = dict(
        zip(
            ("calm_before", "calm_after", "calm_resumed"),
            ([made.rate(*piece) for piece in pieces] for pieces in watched),
            strict=False,
        )
    )
    campaign = Campaign(
        [moment(strike, made, options, began_s) for strike in seen],
        **rates,
        allowed=allowed(run, options),
    )
    counted = {**counts(run, made), "games voided": len(voided)}
    reasons = Counter(reason.split(": ", 2)[-1].split(";")[0][:80] for reason in voided)
    looks = {
        "seconds": [round(at_s - began_s, 2) for at_s in made.times_s],
        "rows": list(made.rows),
    }
    wrong = {
        "complaints": complaints(campaign) + unseen(strikes, counted),
        "checks": checks,
        "failure": failure,
    }
    found = {
        "seconds": time.monotonic() - began_s,
        "counted": counted,
        "voided": dict(reasons),
        "undisturbed": len(campaign.undisturbed),
    }
    return {
        **found,
        "speeds": speeds(campaign),
        "faults": table(campaign),
        **wrong,
        **asdict(campaign),
        "looks": looks,
    }


def counts(run: Run, made: RowsMade) -> dict[str, int]:
    """How much there was of what is checked at the end."""
    with reading(league_path(run.data)) as connection:
        rounds = int(connection.execute("SELECT COUNT(*) FROM rounds").fetchone()[0])
    rows = made.rows[-1] if made.rows else 0
    return {"games acknowledged": run.log.games, "rounds": rounds, "rows produced": rows}


def unseen(strikes: Sequence[MatchStrike], counted: Mapping[str, int]) -> list[str]:
    """Checks that had nothing to check; and whether each match that was lost, and nothing else,
    voided its game.
    """
    lost = sum(strike.ended + 1 for strike in strikes if strike.fault not in (NONE, "kill worker"))
    found = [
        f"no {what}: nothing was checked"
        for what, count in counted.items()
        if count == 0 and (lost or what != "games voided")
    ]
    return found + (
        []
        if counted["games voided"] == lost
        else [f"{counted['games voided']} voided games of {lost} matches that were lost"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=200, help="in all, as many of each kind")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument(
        "--limit",
        type=float,
        default=10.0,
        help="seconds until the training must be as fast as without the fault",
    )
    parser.add_argument("--worker-limit", type=float, default=15.0, help="the same, of a worker")
    parser.add_argument(
        "--hold", type=float, default=10.0, help="seconds over which the speed is taken then"
    )
    parser.add_argument("--rests", type=int, default=28, help="undisturbed moments")
    parser.add_argument("--rest", type=float, default=40.0, help="seconds of each")
    parser.add_argument(
        "--apart",
        type=float,
        default=30.0,
        help="seconds between the effect of a fault and what counts as undisturbed",
    )
    parser.add_argument(
        "--calm",
        type=float,
        default=160.0,
        help="seconds without a fault before the first moment, after the last one, and resumed",
    )
    parser.add_argument(
        "--turn",
        type=float,
        default=2.0,
        help="seconds that a worker may be busy with something else before it looks at a match",
    )
    parser.add_argument(
        "--warmup", type=float, default=30.0, help="seconds of training before these"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="of the configuration",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    if options.faults < 1:
        parser.error(f"--faults {options.faults}: expected at least 1")
    if not 0 < options.rest <= options.calm or options.hold <= 0:
        parser.error(
            f"--rest {options.rest:g}, --calm {options.calm:g}, --hold {options.hold:g}: "
            "expected 0 < rest <= calm and 0 < hold"
        )
    with tempfile.TemporaryDirectory(prefix="doom-faults-", ignore_cleanup_errors=True) as folder:
        report = measure(Path(folder) / "run", options)
    report = {"hardware": hardware(), "settings": settings_of(options), **report}
    print("\n".join(lines(report)))
    if options.json is not None:
        options.json.write_text(json.dumps(report, allow_nan=False) + "\n", encoding="utf-8")
    if report["failure"] or report["complaints"] or any(report["checks"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
