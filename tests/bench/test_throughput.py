"""What speeds are compared with, and what the programs say of words and processes that are none
of theirs.
"""

import queue
from types import SimpleNamespace

import numpy as np
import pytest

from bench import each_core, light
from bench.faults import options_of
from bench.throughput import ROOT, Training, random_legal


def test_the_random_player_takes_all_legal_actions_alike() -> None:
    rng, mask = np.random.default_rng(1), np.array([False, True, True, False, True, False, True])
    counts = np.bincount([random_legal(mask, rng) for _ in range(8_000)], minlength=7)
    assert not counts[~mask].any()
    assert np.abs(counts[mask] - 2_000).max() < 5 * np.sqrt(8_000 * 0.25 * 0.75)


def test_another_game_is_refused() -> None:
    with pytest.raises(
        SystemExit,
        match=(
            r"--config doom_basic: it trains doom, but all other layers play connect_four; "
            r"give a config of connect four"
        ),
    ):
        Training("doom_basic", None)


def test_settings_add_up() -> None:
    assert options_of(["--set", "a=1", "b=2", "--set", "c=3"]).set == ["a=1", "b=2", "c=3"]
    assert options_of([]).set == []


def test_a_process_that_ends_without_a_figure_is_named() -> None:
    found: queue.Queue[float] = queue.Queue()
    alive, failed = (
        SimpleNamespace(name="Process-1", exitcode=None),
        SimpleNamespace(name="Process-2", exitcode=1),
    )
    found.put(10.0)
    with pytest.raises(
        SystemExit, match="ended without a figure: Process-2 with 1; the reason is printed above"
    ):
        each_core.answers(found, [alive, failed], 60.0)
    with pytest.raises(SystemExit, match="0 figures of 1 processes within 0 s"):
        each_core.answers(found, [alive], 0.0)
    found.put(10.0)
    found.put(12.5)
    assert each_core.answers(
        found, [alive, SimpleNamespace(name="Process-2", exitcode=0)], 60.0
    ) == [
        10.0,
        12.5,
    ]


def test_configurations_are_found_from_anywhere() -> None:
    assert light.DEMO.is_absolute() and light.DEMO == ROOT / "configs" / "demo.toml"
