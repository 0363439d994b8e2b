"""Stratified numbers: uniform each, and apart from each other."""

import numpy as np
import pytest

from pbt.seeding import seat_key, seat_keys, stratified


@pytest.mark.parametrize("strata", [2, 4, 8, 64])
def test_of_each_block_of_numbers_one_lies_in_each_interval(strata: int) -> None:
    for seed in range(20):
        for begin in (0, strata, 3 * strata):
            numbers = [stratified(seed, begin + n, "a") for n in range(strata)]
            assert sorted(int(strata * number) for number in numbers) == list(range(strata))


def test_each_alone_is_uniform() -> None:
    numbers = np.array([[stratified(seed, n, "a") for n in range(3)] for seed in range(2000)])
    for column in numbers.T:
        found, _ = np.histogram(column, bins=10, range=(0.0, 1.0))
        # Chi-square with 9 degrees of freedom: 27.9 is exceeded once in a thousand times.
        assert ((found - 200) ** 2 / 200).sum() < 27.9


def test_keys_have_orders_of_their_own() -> None:
    pairs = {
        (int(4 * stratified(seed, 0, "a")), int(4 * stratified(seed, 0, "b")))
        for seed in range(200)
    }
    assert len(pairs) == 16


def test_the_keys_of_many_games_are_those_of_each_seat() -> None:
    games = [("action", table, count) for table in (0, 7) for count in (0, 123)]
    one_by_one = [seat_key(3, *game, seat) for game in games for seat in range(3)]
    assert seat_keys(3, games, 3).tolist() == one_by_one
