"""The bench of lags in a queue: its law against a simulation, and one short run."""

import random

import pytest

from bench import queue_lags
from bench.queue_lags import config_of, law, noted, places
from pbt.runtime import process_group


def simulated(rho: float, places: int, batches: int) -> float:
    """The mean of what batches find, by following each of them."""
    draw, found = random.Random(1), list[int]()
    ends, now = list[float](), 0.0  # of the batches in the system, in order
    for _ in range(batches):
        now += draw.expovariate(rho)
        ends = [end for end in ends if end > now]
        if len(ends) == places:  # it is held back until one has ended
            now = ends.pop(0)
        found.append(len(ends))
        ends.append(max([now, *ends]) + draw.expovariate(1.0))
    return sum(found) / batches


@pytest.mark.parametrize("rho", [0.5, 0.9, 1.0, 2.0])
def test_the_law_is_what_a_simulation_finds(rho: float) -> None:
    assert law(rho, 4) == pytest.approx(simulated(rho, 4, 40_000), abs=0.08)


def test_a_queue_without_an_end_is_that_of_the_paper() -> None:
    assert law(0.5, 60) == pytest.approx(1.0) and law(0.9, 400) == pytest.approx(9.0)


def test_batches_of_a_fast_game_fill_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_group.ProcessGroup, "program", "bench.slow_learner")
    monkeypatch.setattr(queue_lags, "SKIPPED", 10)
    for name in ("SECONDS", "EXPONENTIAL", "NOTES", "SLEEPS"):
        monkeypatch.setenv(getattr(queue_lags, name), "")
    config = config_of(0.0, 2)
    lags, seconds, *_ = noted(config, 30, 0.03)
    assert sum(seconds) / len(seconds) > 0.01
    # A game without sleep brings some more before its worker hears that it should pause.
    assert places(config) - 1 <= sorted(lags)[len(lags) // 2] <= places(config) + 3
