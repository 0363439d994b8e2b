"""The campaign of faults on duels: when a training counts as fast again, what a row says, and that nothing is waited for without a limit."""

import argparse
import math
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import doom_faults
from bench.doom_faults import NONE, Speed, Told, figures_of, told, wait_until
from bench.recovered_speed import NEVER, RowsMade, back_after
from tests.e2e.faults import match_strikes
from tests.e2e.faults.match_strikes import MatchStrike
from tests.e2e.faults.running import Run

USUAL, WINDOW_S, LIMIT_S, HOLD_S = 1000.0, 5.0, 10.0, 10.0
LOOKS_S = 0.2


def made(rate: Callable[[float], float], until_s: float = 60.0) -> RowsMade:
    """Of a training that makes `rate(second)` rows a second."""
    times_s = [look * LOOKS_S for look in range(int(until_s / LOOKS_S) + 1)]
    rows = [0.0]
    for at_s in times_s[1:]:
        rows.append(rows[-1] + rate(at_s - LOOKS_S / 2) * LOOKS_S)
    return RowsMade(times_s, [round(count) for count in rows])


def back(rate: Callable[[float], float], since_s: float = 20.0) -> float:
    return back_after(made(rate), since_s, LIMIT_S, HOLD_S, WINDOW_S, 0.95 * USUAL)


def test_a_training_that_was_never_slower_is_back_at_once() -> None:
    assert back(lambda at_s: USUAL) == 0.0


@pytest.mark.parametrize("stall_s", [1.0, 6.0, 9.5])
def test_a_training_that_stands_still_is_back_when_it_goes_on(stall_s: float) -> None:
    assert back(lambda at_s: 0.0 if 20 <= at_s < 20 + stall_s else USUAL) == pytest.approx(stall_s, abs=0.5)


@pytest.mark.parametrize("period_s", [6.0, 11.0, 17.0])
def test_a_training_that_stays_slower_is_not_back_however_it_wavers(period_s: float) -> None:
    def rate(at_s: float) -> float:
        return USUAL if at_s < 20 else USUAL * (0.92 + 0.06 * math.sin(2 * math.pi * at_s / period_s))

    assert max(made(rate).rate(20 + step / 4, 25 + step / 4) for step in range(41)) >= 0.95 * USUAL or period_s < 7
    assert back(rate) == NEVER


def test_a_single_fast_stretch_is_no_return() -> None:
    assert back(lambda at_s: USUAL if at_s < 20 else 1.5 * USUAL if 24 <= at_s < 29 else 0.6 * USUAL) == NEVER
    assert back(lambda at_s: USUAL if at_s < 20 or 30 <= at_s < 35 else 0.6 * USUAL) == NEVER


def test_what_is_back_too_late_is_not_back() -> None:
    assert back(lambda at_s: USUAL if at_s < 20 or at_s > 32 else 0.0) == NEVER


def test_rows_are_known_only_while_somebody_looked() -> None:
    seen = RowsMade([1.0, 2.0, 4.0], [0, 100, 200])
    assert [seen.at(at_s) for at_s in (1.0, 1.5, 2.0, 3.0, 4.0)] == [0, 50, 100, 150, 200] and seen.rate(1.0, 4.0) == pytest.approx(200 / 3)
    for at_s in (0.9, 4.1):
        with pytest.raises(ValueError, match=r"looked at from 1\.00 to 4\.00 s"):
            seen.at(at_s)
    with pytest.raises(ValueError, match="looked at never"):
        RowsMade([], []).at(1.0)


# --- rows of the table -----------------------------------------------------------------------------------------------------------------------


def options() -> argparse.Namespace:
    return argparse.Namespace(window=WINDOW_S, limit=LIMIT_S, worker_limit=15.0, hold=HOLD_S, turn=2.0)


def strike(fault: str, began_s: float, struck_s: float, gone_s: float, **more: int) -> MatchStrike:
    return MatchStrike(fault, began_s, struck_s, gone_s, (), **more)


def test_a_fault_is_measured_from_its_effect_and_from_the_first_blow() -> None:
    """Slow from the first blow at 20 s; an engine that is stopped at 22 s costs its match 3 s later, and the training is back 4 s after that."""
    series = made(lambda at_s: USUAL if at_s < 20 or at_s >= 29 else 0.5 * USUAL, 100)
    strikes = [strike(NONE, 15, 15, 0.0), strike("no connection", 20, 22, 3.0, ended=2, missed=1), strike(NONE, 70, 70, 0.0)]
    found, usual = told(strikes, series, options())
    assert usual == pytest.approx(USUAL)
    assert [one.fault for one in found] == [NONE, "no connection", NONE]
    struck = found[1]
    assert (struck.gone_s, struck.ended, struck.missed) == (3.0, 2, 1)
    assert struck.back_s == pytest.approx(4.0, abs=0.6) and struck.stalled_s == pytest.approx(5.0 + struck.back_s)
    assert struck.after == pytest.approx(1.0)


def test_the_speed_afterwards_is_compared_with_that_just_before() -> None:
    """On a machine that is slower for a while, before and after the fault."""
    series = made(lambda at_s: USUAL if at_s < 25 or at_s >= 75 else 0.6 * USUAL, 150)
    found, usual = told([strike(NONE, 15, 15, 0.0), strike("kill match", 45, 45, 0.0), strike(NONE, 110, 110, 0.0)], series, options())
    assert usual == pytest.approx(USUAL) and [round(one.after, 2) for one in found] == [0.6, 1.0, 1.0]
    assert [one.back_s for one in found] == [NEVER, NEVER, 0.0], "what a slow machine does to a moment without a fault, too"


def test_a_strike_that_was_not_watched_to_its_end_says_nothing() -> None:
    found, _ = told([strike(NONE, 15, 15, 0.0), strike("kill match", 50, 50, 0.0)], made(lambda at_s: USUAL), options())
    assert [one.fault for one in found] == [NONE]
    assert told([strike("kill match", 50, 50, 0.0)], made(lambda at_s: USUAL), options()) == ([], 0.0)


def one(fault: str = "kill match", **figures: float) -> Told:
    plain = {"gone_s": 0.1, "whole_s": 1.0, "back_s": 2.0, "stalled_s": 2.1, "after": 1.0, "ended": 0, "missed": 0}
    return Told(fault, **(plain | figures))  # type: ignore[arg-type]


def test_figures_of_a_kind() -> None:
    mine = [
        one(after=0.93),
        one(gone_s=0.2, back_s=NEVER, stalled_s=NEVER, after=0.97, whole_s=11.0),
        one(gone_s=3.0, stalled_s=4.0, after=0.92, ended=1),
    ]
    figures = figures_of(mine, gone=2.0, whole=10.0)
    assert (figures["count"], figures["gone_late"], figures["whole_late"], figures["back_late"]) == (3, 1, 1, 1)
    assert (figures["back_median_s"], figures["back_max_s"], figures["stalled_median_s"], figures["stalled_max_s"]) == (2.0, None, 4.0, None)
    assert (figures["whole_median_s"], figures["whole_max_s"]) == (1.0, 11.0)
    assert figures["after_mean"] == pytest.approx(0.94) and figures["after_low"] < 0.92 < 0.96 < figures["after_high"]  # type: ignore[operator]
    assert (figures["matches_ended_before"], figures["starts_missed"]) == (1, 0)
    assert doom_faults.complaints({"kill match": figures}) == [
        "kill match: 1 of 3 gone too late",
        "kill match: 1 of 3 without all its engines for too long",
        "kill match: afterwards 94.0 % of the speed before",
    ]
    assert doom_faults.complaints({NONE: figures}) == []


@pytest.mark.parametrize(("late", "calm_late", "wrong"), [(9, 9, False), (15, 9, False), (22, 9, True), (0, 9, False), (7, 0, True)])
def test_a_kind_is_late_when_it_is_so_more_often_than_undisturbed_moments(late: int, calm_late: int, wrong: bool) -> None:
    def kind(count: int) -> dict[str, float | None]:
        return figures_of([one(back_s=NEVER if number < count else 1.0) for number in range(28)], gone=2.0, whole=10.0)

    found = doom_faults.complaints({"kill match": kind(late), NONE: kind(calm_late)})
    words = f"kill match: more often not as fast as usual in time than undisturbed moments: {late} of 28 and {calm_late} of 28"
    assert found == ([words] if wrong else [])


def test_the_report_of_few_faults_has_no_intervals() -> None:
    report = {
        "faults": {NONE: figures_of([one(NONE)], gone=2.0, whole=10.0)}, "complaints": [], "checks": {}, "failure": None,
        "seconds": 60.0, "acknowledged_games": 7, "usual_rows_per_s": USUAL,
    }  # fmt: skip
    row = doom_faults.lines(report)[2]
    assert row.split() == [NONE, "1", "0.10", "/", "0.10", "1.00", "/", "1.00", "2.00", "/", "2.00", "2.10", "/", "2.10", "0", "100.0%", "0", "0"]


def test_as_many_undisturbed_moments_are_asked_as_faults_of_each_kind() -> None:
    faults = doom_faults.drawn(random.Random(1), 14, ["kill match", "stop match"])
    assert sorted(faults) == ["kill match"] * 7 + [NONE] * 7 + ["stop match"] * 7 and faults != sorted(faults)


# --- looking ---------------------------------------------------------------------------------------------------------------------------------


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
    with Speed(run) as speed, pytest.raises(AssertionError, match="a status of that moment: not within"):
        wait_until(run, speed, time.monotonic(), limit_s=0.2)


def test_a_training_that_ended_is_not_waited_for(run: Run) -> None:
    assert run.main is not None
    run.main.kill()
    run.main.wait()
    with Speed(run) as speed, pytest.raises(AssertionError, match="the training ended with -9"):
        wait_until(run, speed, time.monotonic(), limit_s=60.0)


def test_an_error_of_the_thread_that_looks_ends_the_wait(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable() -> None:
        raise ValueError("no status, but noise")

    monkeypatch.setattr(run, "status", unreadable)
    with Speed(run) as speed, pytest.raises(AssertionError, match="looking at the training failed: no status, but noise") as raised:
        wait_until(run, speed, time.monotonic(), limit_s=60.0)
    assert isinstance(raised.value.__cause__, ValueError)


def test_matches_that_were_killed_for_starts_that_could_not_be_struck_are_counted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    started, tries, killed = iter(range(100, 200)), iter([False, False, True]), list[tuple[int, int]]()

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
    assert began_s <= found.began_s <= found.struck_s and found.gone_s == pytest.approx(8.0, abs=0.5)


@pytest.mark.parametrize("met", [True, False])
def test_a_guest_that_has_met_the_match_goes_on(monkeypatch: pytest.MonkeyPatch, met: bool) -> None:
    """Else another fault would strike, which nobody counts."""
    sent: list[int] = []
    monkeypatch.setattr(match_strikes, "_of_start", lambda match, find: 7)
    monkeypatch.setattr(match_strikes, "_open_files", lambda pid: ["/doom/freedoom2.wad"] if met else [])
    monkeypatch.setattr(match_strikes, "signal_to", lambda pid, number: sent.append(number))
    with match_strikes._guest_stopped(5) as struck:
        assert struck is not met
    assert sent == ([signal.SIGSTOP, signal.SIGCONT] if met else [signal.SIGSTOP])
