"""The campaign of faults on duels: which trainings count as fast again, what a row says, and
that nothing is waited for without a limit.
"""

import argparse
import math
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bench import doom_faults
from bench.doom_faults import moment, unseen, watched_s
from bench.fault_figures import (
    NONE,
    Allowed,
    Campaign,
    Moment,
    complaints,
    figures,
    lines,
    speeds,
    table,
)
from bench.observed_rows import Speed, wait_until
from bench.recovered_speed import RowsMade, ratio
from tests.e2e.faults import match_strikes
from tests.e2e.faults.match_strikes import FAULTS, MatchStrike
from tests.e2e.faults.running import Run

USUAL = 1000.0
ALLOWED = Allowed(dict.fromkeys(FAULTS, 2.0), dict.fromkeys(FAULTS, 10.0))


def options(**changed: float) -> argparse.Namespace:
    plain = {
        "limit": 10.0,
        "worker_limit": 15.0,
        "hold": 10.0,
        "rest": 40.0,
        "apart": 30.0,
        "calm": 160.0,
        "turn": 2.0,
    }
    return argparse.Namespace(**(plain | changed))


# --- speed ----------------------------------------------------------------------------------------


def test_rows_are_known_only_while_somebody_looked() -> None:
    seen = RowsMade([1.0, 2.0, 4.0], [0, 100, 200])
    assert [seen.at(at_s) for at_s in (1.0, 1.5, 2.0, 3.0, 4.0)] == [
        0,
        50,
        100,
        150,
        200,
    ] and seen.rate(1.0, 4.0) == pytest.approx(200 / 3)
    for at_s in (0.9, 4.1):
        with pytest.raises(ValueError, match=r"looked at from 1\.00 to 4\.00 s"):
            seen.at(at_s)
    with pytest.raises(ValueError, match="looked at never"):
        RowsMade([], []).at(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_ratio_of_means_has_the_interval_it_says(seed: int) -> None:
    """Drawn again and again, the interval holds the true ratio about as often as it should; that
    of equal means is Welch's.
    """
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(400):
        found = ratio(list(rng.normal(950, 120, 25)), list(rng.normal(1000, 80, 15)))
        held += found.low <= 0.95 <= found.high
    assert 0.92 * 400 <= held <= 0.98 * 400
    above, below = rng.normal(1000, 120, 25), rng.normal(1000, 80, 15)
    above += below.mean() - above.mean()
    welch = stats.ttest_ind(above, below, equal_var=False).confidence_interval(0.95)
    found = ratio(list(above), list(below))
    assert found.value == pytest.approx(1.0)
    assert (found.low, found.high) == pytest.approx(
        (1 + welch.low / below.mean(), 1 + welch.high / below.mean())
    )


def test_single_speeds_say_nothing_of_chance() -> None:
    assert (
        ratio([900.0], [1000.0, 1010.0]).low == -math.inf
        and ratio([900.0, 910.0], [1000.0]).high == math.inf
    )
    with pytest.raises(statistics.StatisticsError):
        ratio([], [1000.0])


# --- campaigns ------------------------------------------------------------------------------------

Rate = Callable[[float, list[MatchStrike]], float]


def campaign(rate: Rate, *, noise: float = 0.127, seed: int = 1, faults: int = 200) -> Campaign:
    """As long as a real one, of a training that makes rate(second, faults since its start) rows
    a second, give or take `noise` over ten seconds.
    """
    rng, found = random.Random(seed), options()
    at_s, strikes, seconds = 20.0, list[MatchStrike](), []
    watched = [pieces(at_s)]
    at_s += 200.0
    for fault in doom_faults.drawn(rng, faults, 28, FAULTS):
        if fault == NONE:
            at_s = max(
                at_s,
                max((strike.effect_s for strike in strikes if strike.fault != NONE), default=0.0)
                + found.apart,
            )
        strikes.append(MatchStrike(fault, at_s, at_s, 0.0, ()))
        at_s = watched_s(strikes[-1], found)[1] + rng.random()
    watched += [pieces(at_s + 30.0), pieces(at_s + 230.0)]
    resumed_s = at_s + 230.0
    rows, struck, waver = [0.0], list[MatchStrike](), 1.0
    for second in range(int(resumed_s) + 202):
        struck = (
            []
            if second >= resumed_s
            else [strike for strike in strikes if strike.fault != NONE and strike.began_s <= second]
        )
        if second % 10 == 0:
            waver = 1 + rng.gauss(0.0, noise)
        rows.append(rows[-1] + rate(second, struck) * waver)
        seconds.append(float(second))
    made = RowsMade([*seconds, seconds[-1] + 1], [round(row) for row in rows])
    rates = [[made.rate(*piece) for piece in part] for part in watched]
    return Campaign([moment(strike, made, found, 0.0) for strike in strikes], *rates, ALLOWED)


def pieces(begin_s: float) -> list[tuple[float, float]]:
    return [(begin_s + piece * 40, begin_s + piece * 40 + 40) for piece in range(5)]


def since(at_s: float, faults: list[MatchStrike]) -> float:
    return at_s - faults[-1].began_s if faults else math.inf


@pytest.mark.parametrize("seed", range(4))
def test_a_training_that_is_back_in_time_is_not_complained_of(seed: int) -> None:
    """Each fault costs half for nine seconds; and trainings become slower with time.

    At less noise than there is: at 13 % the gate, which wants to be shown 95 %, complains of one
    campaign of thirteen.
    """
    found = campaign(
        lambda at_s, faults: (
            USUAL * (1 - at_s / 60_000) * (0.5 if since(at_s, faults) < 9 else 1.0)
        ),
        seed=seed,
        noise=0.08,
    )
    assert complaints(found) == []
    assert len(found.struck) == 200 and len(found.undisturbed) == 28
    assert all(row["at_first"] < 0.75 for row in table(found).values()) and speeds(found)[
        "after"
    ] == pytest.approx(1.0, abs=0.03)


SLOW: dict[str, tuple[Rate, str]] = {
    "70 % for 30 s": (
        lambda at_s, faults: USUAL * (0.7 if since(at_s, faults) < 30 else 1.0),
        "the speed after faults is not shown to be 95%",
    ),
    "90 % for 30 s": (
        lambda at_s, faults: USUAL * (0.9 if since(at_s, faults) < 30 else 1.0),
        "the speed after faults is not shown to be 95%",
    ),
    "70 % for 80 s": (
        lambda at_s, faults: USUAL * (0.7 if since(at_s, faults) < 80 else 1.0),
        "undisturbed moments among faults",
    ),
    "1 % for good at each": (
        lambda at_s, faults: USUAL * 0.99 ** len(faults),
        "after the last fault",
    ),
    "half for good after the first": (
        lambda at_s, faults: USUAL * (0.5 if faults else 1.0),
        "after the last fault",
    ),
    "a quarter of all time, whenever": (
        lambda at_s, faults: USUAL * (0.25 if since(at_s, faults) < 15 else 1.0),
        "the speed after faults",
    ),
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("seed", range(2))
def test_a_training_that_is_slower_after_faults_is_complained_of(name: str, seed: int) -> None:
    rate, words = SLOW[name]
    found = complaints(campaign(rate, seed=seed))
    assert any(complaint.startswith(words) for complaint in found), found


def test_one_kind_that_costs_more_is_found_among_the_others() -> None:
    def rate(at_s: float, faults: list[MatchStrike]) -> float:
        return USUAL * (
            0.8 if faults and faults[-1].fault == "kill match" and since(at_s, faults) < 25 else 1.0
        )

    found = campaign(rate, noise=0.08)
    slow = [complaint for complaint in complaints(found) if complaint.startswith("kill ")]
    assert (
        len(slow) == 1
        and slow[0].startswith("kill match: ")
        and slow[0].endswith("of the speed of undisturbed moments, when it should be back")
    )
    assert table(found)["kill match"]["after"] == pytest.approx(0.8, abs=0.03)


def test_what_was_not_watched_is_not_shown() -> None:
    whole = campaign(lambda at_s, faults: USUAL, noise=0.01)
    assert complaints(whole) == []
    for less, words in (
        (
            replace(whole, calm_before=()),
            (
                "the minutes before the first fault, after the last one, or after a new start "
                "were not measured"
            ),
        ),
        (
            replace(whole, calm_resumed=()),
            (
                "the minutes before the first fault, after the last one, or after a new start "
                "were not measured"
            ),
        ),
        (
            replace(whole, moments=whole.struck),
            "no speed after faults, or none of undisturbed moments, was seen",
        ),
        (
            replace(whole, moments=[]),
            "no speed after faults, or none of undisturbed moments, was seen",
        ),
    ):
        assert complaints(less) == [words]


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_is_spread_over_the_whole_campaign(seed: int) -> None:
    """In random order; of what there is ten of, one or more and at most three are in each fifth."""
    found = doom_faults.drawn(random.Random(seed), 70, 10, FAULTS)
    kinds = (*FAULTS, NONE)
    assert Counter(found) == dict.fromkeys(kinds, 10)
    fifths = [Counter(found[16 * part : 16 * (part + 1)]) for part in range(5)]
    assert all(1 <= fifth[kind] <= 3 for fifth in fifths for kind in kinds), fifths
    assert found != doom_faults.drawn(random.Random(seed + 1), 70, 10, FAULTS)
    assert doom_faults.drawn(random.Random(seed), 3, 0, FAULTS[:2]).count(FAULTS[0]) == 2


def test_when_a_training_must_be_back() -> None:
    """From the first blow on, also where what was struck lived on for a while; a worker may take
    longer.
    """
    strike = MatchStrike(
        "no connection", 100.0, 102.0, 7.9, ("voided",), whole_s=0.2, ended=2, missed=1
    )
    assert watched_s(strike, options()) == (110.0, 120.0)
    assert watched_s(MatchStrike("kill worker", 100.0, 100.0, 0.1, ()), options()) == (115.0, 125.0)
    assert watched_s(MatchStrike(NONE, 100.0, 100.0, 0.0, ()), options()) == (100.0, 140.0)
    made = RowsMade([0.0, 100.0, 110.0, 120.0, 130.0], [0, 100_000, 104_000, 113_000, 130_000])
    found = moment(strike, made, options(), since_s=60.0)
    assert found == Moment(
        "no connection",
        40.0,
        7.9,
        0.2,
        pytest.approx(400.0),
        pytest.approx(900.0),
        2,
        1,
        ("voided",),
    )


def one(fault: str = "kill match", **changed: float) -> Moment:
    plain = {"began_s": 100.0, "gone_s": 0.1, "whole_s": 1.0, "at_first": 800.0, "after": 1000.0}
    return Moment(fault, **(plain | changed))  # type: ignore[arg-type]


def test_figures_of_a_kind() -> None:
    mine = [
        one(after=930.0),
        one(gone_s=0.2, after=970.0, whole_s=11.0),
        one(gone_s=3.0, after=920.0, ended=1),
    ]
    whole = Campaign([*mine, one(NONE, after=990.0), one(NONE, after=1010.0)], allowed=ALLOWED)
    row = figures(mine, whole, beyond_chance=0.95)
    assert (
        row["count"],
        row["gone_late"],
        row["whole_late"],
        row["matches_ended_before"],
        row["starts_missed"],
    ) == (3, 1, 1, 1, 0)
    assert (row["gone_median_s"], row["gone_max_s"], row["whole_median_s"], row["whole_max_s"]) == (
        0.2,
        3.0,
        1.0,
        11.0,
    )
    assert (
        row["at_first"] == pytest.approx(0.8)
        and row["after"] == pytest.approx(0.94)
        and row["low"] < 0.92 < 0.96 < row["high"]
    )
    assert complaints(whole)[:2] == [
        "kill match: 1 of 3 gone too late",
        "kill match: 1 of 3 without all its engines for too long",
    ]


def test_the_report_says_what_was_seen_and_what_was_not() -> None:
    few = Campaign([one()], calm_before=[1000.0], allowed=ALLOWED)
    report = {
        "faults": table(few),
        "speeds": speeds(few),
        "complaints": complaints(few),
        "checks": {"rows add up": [], "nothing is left": ["an engine"]},
        "failure": "the training ended\nwith words",
        "seconds": 60.0,
        "counted": {"rounds": 7, "rows produced": 12_000},
        "undisturbed": 0,
    }
    said = lines(report)
    words = (
        "rows/s: 1000 before the first fault, - at 0 undisturbed moments, - after the "
        "last fault, - when started anew"
    )
    assert said[:2] == ["60 s; 7 rounds, 12,000 rows produced", words]
    assert said[3].split() == [
        "kill",
        "match",
        "1",
        "0.10",
        "/",
        "0.10",
        "/",
        "2",
        "1.00",
        "/",
        "1.00",
        "/",
        "10",
        "-",
        "-",
        "0",
        "0",
    ]
    assert said[-3:] == [
        "  ok     rows add up",
        "  WRONG  nothing is left: ['an engine']",
        "  FAILED the training ended",
    ]


def test_checks_that_had_nothing_to_check_are_complained_of() -> None:
    strikes = [
        MatchStrike(NONE, 1, 1, 0.0, ()),
        MatchStrike("kill worker", 1, 1, 0.1, ()),
        MatchStrike("take port", 1, 1, 0.1, (), ended=2),
    ]
    assert unseen(strikes, {"games voided": 3, "rounds": 2}) == []
    assert unseen(strikes, {"games voided": 3, "rounds": 0}) == ["no rounds: nothing was checked"]
    assert (
        unseen(strikes, {"games voided": 0, "rounds": 1})[0]
        == "no games voided: nothing was checked"
    )
    assert unseen(strikes, {"games voided": 4, "rounds": 1}) == [
        "4 voided games of 3 matches that were lost"
    ]
    assert unseen(strikes[:2], {"games voided": 0, "rounds": 1}) == []


def test_kinds_come_equally_often_and_in_random_order() -> None:
    faults = doom_faults.drawn(random.Random(1), 14, 5, ["kill match", "stop match"])
    assert sorted(faults) == ["kill match"] * 7 + [NONE] * 5 + [
        "stop match"
    ] * 7 and faults != sorted(faults)


def test_an_undisturbed_moment_waits_until_the_last_fault_is_long_ago() -> None:
    now_s = time.monotonic()
    strikes = [
        MatchStrike("stop match", now_s, now_s, 0.1, ()),
        MatchStrike(NONE, now_s + 90, now_s + 90, 0.0, ()),
    ]
    found = doom_faults.rested(options(apart=0.2), strikes)
    assert found.fault == NONE and now_s + 0.3 <= found.began_s < now_s + 5
    assert doom_faults.rested(options(), []).began_s - time.monotonic() < 1


# --- looking --------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Whose main process says nothing, and ends when it is killed."""
    run = Run(tmp_path / "run", "")
    run.main = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (run.folder / "0.err").touch()
    yield run
    run.main.kill()
    run.close()


def test_a_training_that_says_nothing_is_not_waited_for_for_ever(run: Run) -> None:
    with (
        Speed(run) as speed,
        pytest.raises(AssertionError, match="a status of that moment: not within"),
    ):
        wait_until(run, speed, time.monotonic(), limit_s=0.2)


def test_a_training_that_ended_is_not_waited_for(run: Run) -> None:
    assert run.main is not None
    run.main.kill()
    run.main.wait()
    with Speed(run) as speed, pytest.raises(AssertionError, match="the training ended with -9"):
        wait_until(run, speed, time.monotonic(), limit_s=60.0)


def test_an_error_of_the_thread_that_looks_ends_the_wait(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable() -> None:
        raise ValueError("no status, but noise")

    monkeypatch.setattr(run, "status", unreadable)
    with (
        Speed(run) as speed,
        pytest.raises(
            AssertionError, match="looking at the training failed: no status, but noise"
        ) as raised,
    ):
        wait_until(run, speed, time.monotonic(), limit_s=60.0)
    assert isinstance(raised.value.__cause__, ValueError)


def test_matches_that_were_killed_for_starts_that_could_not_be_struck_are_counted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, tries, killed = (
        iter(range(100, 200)),
        iter([False, False, True]),
        list[tuple[int, int]](),
    )

    @contextmanager
    def stopped(match: int) -> Iterator[bool]:
        yield next(tries)

    for name, replaced in {
        "_match_processes": lambda run: [next(started)],
        "matches": lambda run: [7],
        "engines": lambda run: [],
        "signal_to": lambda pid, number: killed.append((pid, number)),
        "_guest_stopped": stopped,
        "_until_gone": lambda run, pid: time.monotonic() + 8.0,
    }.items():
        monkeypatch.setattr(match_strikes, name, replaced)
    began_s = time.monotonic()
    found = match_strikes._strike_start(run, "no connection", random.Random(1))
    assert (found.ended, found.missed, killed) == (3, 2, [(7, signal.SIGKILL)] * 3)
    assert began_s <= found.began_s <= found.struck_s and found.gone_s == pytest.approx(
        8.0, abs=0.5
    )


@pytest.mark.parametrize("met", [True, False])
def test_a_guest_that_has_met_the_match_goes_on(monkeypatch: pytest.MonkeyPatch, met: bool) -> None:
    """Otherwise another fault would strike, which is not counted."""
    sent: list[int] = []
    monkeypatch.setattr(match_strikes, "_of_start", lambda match, find: 7)
    monkeypatch.setattr(
        match_strikes, "_open_files", lambda pid: ["/doom/freedoom2.wad"] if met else []
    )
    monkeypatch.setattr(match_strikes, "signal_to", lambda pid, number: sent.append(number))
    with match_strikes._guest_stopped(5) as struck:
        assert struck is not met
    assert sent == ([signal.SIGSTOP, signal.SIGCONT] if met else [signal.SIGSTOP])
