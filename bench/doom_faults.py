"""Measures how a training of Doom duels recovers from faults of its engines, matches and workers.

    python -m bench.doom_faults --faults 200 --json doom_faults.json

One training of configs/doom_duel.toml is struck from outside by faults of every kind, one after the
other in random order. (The sampling plane is all rollout workers and policy servers together.)
  kill/stop engine, match    SIGKILL, or SIGSTOP for good, of an engine or of the process that holds
                             a match
  kill worker                SIGKILL of a rollout worker; the sampling plane starts again
  take port                  a foreign process binds the port that a starting match has chosen,
                             before its engine does
  no connection              an engine of a starting match stands still before it has met the other
                             one

Reported for each kind:
  gone      seconds until the struck process was gone: median, greatest and allowed
  whole     seconds from then until as many engines stood as before: the same three
  at first  speed from the first blow until --limit seconds after it (--worker-limit for a worker),
            divided by that of undisturbed moments
  after     the same for the --hold seconds from then on, with its 95 % interval
Of the last two kinds also how many matches were ended, and how many of the next ones had started
before they could be struck.

The speed is rows of experience a second. Undisturbed moments are --rests stretches of --rest
seconds, each beginning --apart seconds after the effect of the last fault or later. They and the
faults of each kind come at random, one in each part of the campaign, so that changes of the
training over time meet all of them alike. A loss that lasts longer is in the undisturbed moments as
well, so the training is also watched for --calm seconds before the first fault, after the last one,
and after a stop and a resume.

These are wrong, and make the exit code 1:
  too late     a struck process is gone, or all engines stand again, later than allowed
  all faults   the lower end of the interval of "after" is below 95 %
  a kind       its "after" is below 95 %, and below 100 % by more than chance (95 % for all kinds
               together)
  for good     the same of the minutes after all faults beside those after the resume, or of
               undisturbed moments beside these and the minutes before the first fault
A training that loses nothing fails in about one campaign of thirteen (9 of 120 simulated ones, with
speeds that differ by 13 % from ten seconds to the next); a laxer check would miss real losses.

A process that was stopped may live for its deadline (env.options.deadline_s, start_deadline_s) and
--turn seconds more, for a worker that learns when it is struck. Nothing may be left whenever the
training is stopped. At the end every game that was seen committed must be in the league exactly
once, `arena verify` must agree, no voided game may be scored, each lost match and nothing
else must have voided one game, rows must add up, and each of these checks must have had something
to check.

Run it from the repository's root on an idle machine; 200 faults take about 100 minutes. Progress
goes to stderr; the JSON has every moment and every sample of the speed.
"""

import argparse
import json
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from arena.data.paths import league_path
from bench.fault_figures import NONE, Allowed, Campaign, Moment, complaints, lines, speeds, table
from bench.observed_rows import Speed, wait_until
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


def drawn(rng: random.Random, count: int, rests: int, kinds: Sequence[str]) -> list[str]:
    """The order of faults and undisturbed moments.

    Of a kind's n faults, one stands anywhere in each n-th part of the campaign.
    count  number of faults, equally many of each kind
    rests  number of undisturbed moments
    """
    counts = Counter([kinds[number % len(kinds)] for number in range(count)]) + Counter(
        {NONE: rests}
    )
    placed = [
        ((number + rng.random()) / n, fault) for fault, n in counts.items() for number in range(n)
    ]
    return [fault for _, fault in sorted(placed)]


def struck(run: Run, options: argparse.Namespace, strikes: list[MatchStrike], speed: Speed) -> None:
    """Run all faults and undisturbed moments one after the other, and watch each to its end."""
    rng = random.Random(options.seed)
    faults = drawn(rng, options.faults, options.rests, options.kinds)
    for fault in faults:
        time.sleep(rng.uniform(0.0, 1.0))  # the moment of a fault is random
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
    """Wait until the last fault is long enough ago. Returns a moment without a fault."""
    last_s = max((strike.effect_s for strike in strikes if strike.fault != NONE), default=-math.inf)
    time.sleep(max(0.0, last_s + options.apart - time.monotonic()))
    now_s = time.monotonic()
    return MatchStrike(NONE, now_s, now_s, 0.0, ())


def watched_s(strike: MatchStrike, options: argparse.Namespace) -> tuple[float, float]:
    """(begin, end) of the time in which a training must be as fast as without the fault."""
    if strike.fault == NONE:
        return strike.began_s, strike.began_s + options.rest
    begin_s = strike.began_s + allowed_back_s(strike.fault, options)
    return begin_s, begin_s + options.hold


def calm(run: Run, options: argparse.Namespace, speed: Speed) -> list[tuple[float, float]]:
    """Wait for some minutes without a fault. Returns (begin, end) of each piece of them."""
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
    """A strike in the form that the figures need."""
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
    """Seconds until the training must be as fast as before."""
    return float(options.worker_limit if fault == "kill worker" else options.limit)


def allowed(run: Run, options: argparse.Namespace) -> Allowed:
    """The allowed seconds, by the deadlines of a match. A killed process is gone after a turn."""
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
    """Run the whole campaign. Failures are part of the report."""
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
            # Counted before the stop, which voids the running games as well.
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
    watched_strikes = [
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
        [moment(strike, made, options, began_s) for strike in watched_strikes],
        **rates,
        allowed=allowed(run, options),
    )
    counted = {**counts(run, made), "games voided": len(voided)}
    reasons = Counter(reason.split(": ", 2)[-1].split(";")[0][:80] for reason in voided)
    samples = {
        "seconds": [round(at_s - began_s, 2) for at_s in made.times_s],
        "rows": list(made.rows),
    }
    wrong = {
        "complaints": complaints(campaign) + unseen(strikes, counted),
        "checks": checks,
        "failure": failure,
    }
    totals = {
        "seconds": time.monotonic() - began_s,
        "counted": counted,
        "voided": dict(reasons),
        "undisturbed": len(campaign.undisturbed),
    }
    return {
        **totals,
        "speeds": speeds(campaign),
        "faults": table(campaign),
        **wrong,
        **asdict(campaign),
        "looks": samples,
    }


def counts(run: Run, made: RowsMade) -> dict[str, int]:
    """Numbers of the things that are checked at the end."""
    with reading(league_path(run.data)) as connection:
        rounds = int(connection.execute("SELECT COUNT(*) FROM rounds").fetchone()[0])
    rows = made.rows[-1] if made.rows else 0
    return {"games acknowledged": run.log.games, "rounds": rounds, "rows produced": rows}


def unseen(strikes: Sequence[MatchStrike], counted: Mapping[str, int]) -> list[str]:
    """Checks that had nothing to check, and voided games that do not match the lost matches."""
    lost = sum(strike.ended + 1 for strike in strikes if strike.fault not in (NONE, "kill worker"))
    problems = [
        f"no {what}: nothing was checked"
        for what, count in counted.items()
        if count == 0 and (lost or what != "games voided")
    ]
    return problems + (
        []
        if counted["games voided"] == lost
        else [f"{counted['games voided']} voided games of {lost} matches that were lost"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--faults", type=int, default=200, help="number of faults, equally many of each kind"
    )
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument(
        "--limit",
        type=float,
        default=10.0,
        help="seconds after a fault until the training must be as fast as before",
    )
    parser.add_argument("--worker-limit", type=float, default=15.0, help="the same for a worker")
    parser.add_argument(
        "--hold", type=float, default=10.0, help="seconds over which that speed is measured"
    )
    parser.add_argument("--rests", type=int, default=28, help="number of undisturbed moments")
    parser.add_argument("--rest", type=float, default=40.0, help="seconds of an undisturbed moment")
    parser.add_argument(
        "--apart",
        type=float,
        default=30.0,
        help="seconds after the effect of a fault until a moment counts as undisturbed",
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
        help="seconds that a worker may be busy before it looks at a match",
    )
    parser.add_argument(
        "--warmup", type=float, default=30.0, help="seconds of training before the calm ones"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="override a value of the config; may be given often",
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
