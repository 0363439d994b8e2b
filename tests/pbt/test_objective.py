"""Objectives: the words for them, which one a new population has, and what sums to zero."""

import pytest

from pbt.errors import EngineError
from pbt.objective import (
    OBJECTIVE_WORDS,
    OBJECTIVES,
    all_equal,
    as_objective,
    chosen_objective,
    sums_to_zero,
)


def test_words() -> None:
    assert [as_objective(word) for word in ("wins", "win", "margin", "return")] == [
        "win",
        "win",
        "margin",
        "return",
    ]
    assert set(OBJECTIVE_WORDS) == set(OBJECTIVES)
    with pytest.raises(EngineError, match='expected "win", "margin" or "return"'):
        as_objective("points")


def test_a_setting_holds_before_a_declaration_and_that_before_the_seats() -> None:
    assert chosen_objective("win", "margin", 2) == "win"
    assert chosen_objective(None, "margin", 2) == "margin"
    assert chosen_objective(None, None, 2) == "win"
    assert chosen_objective(None, None, 1) == "return"
    # A game that may have one seat or more declares what holds for more.
    assert chosen_objective(None, "win", 1) == "return"


def test_sums_of_returns() -> None:
    assert sums_to_zero([0.1 + 0.2, -0.3]) and sums_to_zero([0.0, 0.0]) and sums_to_zero([0.0])
    assert sums_to_zero([1e6 + 1.0, -1e6]), "what float32 cannot tell apart"
    assert not sums_to_zero([1.0, -0.9]) and not sums_to_zero([1.0])
    assert all_equal([2.0, 2.0, 2.0]) and all_equal([-1e6, -1e6 + 1.0]) and all_equal([0.0, 0.0])
    assert not all_equal([1.0, -1.0]) and not all_equal([1.0, 0.9])
