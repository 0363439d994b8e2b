"""Figures of equal learning, from hand-made curves."""

from math import sqrt

import pytest

from bench import learning
from bench.learning import beside_random, compared, mean_or_none, score, sliding, verdicts
from bench.peers import PEER


def test_a_curve_is_the_mean_of_the_newest_games_that_had_ended_by_an_update(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(learning, "EPISODES", 3)
    updates = [(1, 100), (2, 200), (3, 300), (4, 400)]
    # (version that chose the last action, return), in any order: two by version 1, three by 2, five
    # by 3.
    games = [(3, 50.0), (0, 1.0), (2, 6.0), (1, 2.0), (3, 40.0), (9, 1e9)]
    assert sliding(updates, games) == [
        (200, 3.0),
        (300, pytest.approx(32.0)),
        (400, pytest.approx(32.0)),
    ]
    assert sliding(updates, games[:2]) == [] and sliding([], games) == []


def test_a_score_is_the_mean_over_the_last_fifth() -> None:
    curve = [(100, 1.0), (800, 2.0), (801, 4.0), (1000, 6.0), (1010, 8.0)]
    assert score(curve, 1000) == 6.0
    with pytest.raises(SystemExit, match="train for more of them with --frames"):
        score(curve[:2], 1000)


def test_ours_reaches_the_peer_within_one_pooled_deviation() -> None:
    # Variances 1 and 3: pooled sqrt(2).
    ours, theirs = [4.0, 5.0, 6.0], [5.0, 5.0, 8.0]
    found = compared(ours, theirs)
    assert found == {
        "mean": 5.0,
        "against": 6.0,
        "pooled_deviation": pytest.approx(sqrt(2)),
        "reached": True,
    }
    assert compared([3.0, 4.0, 5.0], theirs)["reached"] is False
    assert compared([2.0], theirs) == {
        "mean": 2.0,
        "against": 6.0,
        "pooled_deviation": None,
        "reached": None,
    }


def test_the_peer_learns_something_when_it_doubles_random() -> None:
    assert beside_random([5.0, 7.0], 3.0) == {
        "random": 3.0,
        "peer": 6.0,
        "peer / random": 2.0,
        "doubled": True,
    }
    assert beside_random([5.0], 3.0)["doubled"] is False
    # Where random is negative: gained its size.
    assert beside_random([0.0], -4.0) == {
        "random": -4.0,
        "peer": 0.0,
        "peer / random": None,
        "doubled": True,
    }
    assert beside_random([-1.0], -4.0)["doubled"] is False


def test_verdicts_are_of_what_was_run() -> None:
    scores = {"bfloat16": [4.0, 6.0], "float32": [5.0, 5.0], PEER: [4.0, 4.0]}
    found = verdicts(scores, 1.0)
    assert list(found) == [
        "learnable",
        f"bfloat16 against {PEER}",
        f"float32 against {PEER}",
        "bfloat16 against float32",
    ]
    assert found["bfloat16 against float32"]["against"] == 5.0 and found["learnable"]["peer"] == 4.0
    assert list(verdicts({"bfloat16": [1.0]}, 1.0)) == []


def test_a_mean_of_nothing_is_none() -> None:
    assert mean_or_none([None, 1.0, 2.0]) == 1.5 and mean_or_none([None]) is None
