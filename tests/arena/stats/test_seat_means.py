"""Means of seats over blocks, and self-play and cross-play, by hand and for chance."""

import numpy as np
import pytest

from arena.stats.cross_play import cross_play
from arena.stats.intervals import mean_interval
from arena.stats.seat_means import Mean, SeatValues, averaged, block_means, lead, mean_of
from pbt.errors import EngineError


def test_a_player_gets_the_mean_over_its_seats_then_games_then_blocks() -> None:
    games = [
        SeatValues(("a", "b", "b"), (3.0, 1.0, 2.0), 0),
        SeatValues(("b", "a", "a"), (6.0, 0.0, 4.0), 0),
        SeatValues(("a", "b", "b"), (5.0, 1.0, 1.0), 1),
    ]
    means = block_means(games)
    assert means == {"a": {0: 2.5, 1: 5.0}, "b": {0: 3.75, 1: 1.0}}
    ahead = lead(means["a"], means["b"])
    assert ahead is not None
    assert ahead.value == pytest.approx((-1.25 + 4.0) / 2)
    assert (ahead.low, ahead.high) == mean_interval([-1.25, 4.0])
    assert averaged([means["a"], means["b"]]) == {0: 3.125, 1: 3.0}


def test_blocks_that_one_of_two_missed_are_no_part_of_a_lead() -> None:
    assert lead({0: 1.0, 1: 5.0}, {0: 0.0}) == Mean(1.0, None, None)
    assert lead({0: 1.0}, {1: 0.0}) is None
    assert mean_of({0: 2.0}).sign == 0
    assert [Mean(1.0, 0.5, 1.5).sign, Mean(-1.0, -2, -0.5).sign, Mean(1, -1, 3).sign] == [1, -1, 0]


def test_self_play_cross_play_and_their_gap_by_hand() -> None:
    """y_00 = 4 and 6, y_11 = 2, y_01 = 1, y_10 = 3, in two blocks that are alike but for y_00."""
    games = []
    for block, own in enumerate((4.0, 6.0)):
        games += [
            SeatValues(((0, 0), (0, 0)), (own, own), block),
            SeatValues(((1, 1), (1, 1)), (2.0, 2.0), block),
            SeatValues(((0, 1), (1, 0)), (1.0, 3.0), block),
        ]
    found = cross_play(games, 2)
    assert [[mean.value for mean in one.with_each] for one in found.players] == [[5, 1], [3, 2]]
    assert (found.self_play.value, found.cross_play.value, found.gap.value) == (3.5, 2.0, 1.5)
    assert [one.gap.value for one in found.players] == [4.0, -1.0]
    assert (found.gap.low, found.gap.high) == mean_interval([1.0, 2.0])
    ((i, j, ahead),) = found.leads
    assert (i, j, ahead.value, found.blocks) == (0, 1, 3.0, 2)
    with pytest.raises(EngineError, match=r"players \(1, 0\) of 2 have no game"):
        cross_play([SeatValues(((0, 0),), (1.0,), 0), SeatValues(((0, 1),), (1.0,), 0)], 2)


def test_the_interval_of_the_gap_holds_the_truth_in_95_of_100() -> None:
    """Seeds move all games of a block; 1000 matches of 40 blocks cover 95 % within 2.1 %."""
    rng, inside = np.random.default_rng(7), 0
    for _ in range(1000):
        seed, noise = rng.normal(0, 2, 40), rng.normal(0, 1, (40, 4))
        games = [
            SeatValues((pairing,), (float(truth + seed[block] + noise[block, kind]),), block)
            for block in range(40)
            for kind, (pairing, truth) in enumerate(
                {(0, 0): 5.0, (1, 1): 3.0, (0, 1): 1.0, (1, 0): 2.0}.items()
            )
        ]
        gap = cross_play(games, 2).gap
        assert gap.low is not None and gap.high is not None
        inside += gap.low < 2.5 < gap.high
    assert abs(inside / 1000 - 0.95) < 0.021
