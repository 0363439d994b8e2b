"""The metrics of one training's evaluation games, on games that were written out."""

import random

import pytest

from arena.stats.evaluation_curves import Episode, newest_mean, seconds_until


def episodes(policies: int, each: int, member: str = "m0") -> list[Episode]:
    """Policy p plays its games at 10 p + 1, 10 p + 2, ... s, and gets p in all of them."""
    return [
        Episode(member, f"{member} {policy}", 10 * policy + game, float(policy))
        for policy in range(policies)
        for game in range(1, each + 1)
    ]


def test_the_newest_ten_games_of_the_newest_ten_policies_count() -> None:
    found = newest_mean(episodes(25, 10))
    assert found == (sum(range(15, 25)) / 10, 100, 10)
    # The final evaluation adds games of the last policy, of which the newest ten count.
    last = [Episode("m0", "m0 24", 300 + game, 24.0 + game) for game in range(40)]
    found = newest_mean(episodes(25, 10) + last)
    assert found is not None and found.episodes == 100
    expected = 10 * sum(range(15, 24)) + sum(24.0 + game for game in range(30, 40))
    assert found.value == pytest.approx(expected / 100)


def test_fewer_games_are_counted_where_fewer_were_played() -> None:
    assert newest_mean(episodes(3, 2)) == (1.0, 6, 3)
    assert newest_mean([]) is None


def test_each_member_has_policies_of_its_own() -> None:
    both = sorted(episodes(25, 10) + episodes(15, 10, "m1"), key=lambda one: one.at_s)
    assert newest_mean(both) == ((19.5 + 9.5) / 2, 200, 20)


def test_what_ended_later_than_a_limit_does_not_count() -> None:
    found = newest_mean(episodes(25, 10), until_s=110.0)
    assert found == (sum(range(1, 11)) / 10, 100, 10)
    assert newest_mean(episodes(25, 10), until_s=0.5) is None


def test_the_running_mean_of_a_hundred_must_reach_the_target() -> None:
    played = episodes(25, 10)
    # The mean over policies p - 9 to p is p - 4.5.
    assert seconds_until(played, 10.5) == 10 * 15 + 10
    assert seconds_until(played, 10.6) == 10 * 16 + 1
    assert seconds_until(played, 4.5) == 10 * 9 + 10, "a hundred games are needed"
    assert seconds_until(played, 19.6) is None
    assert seconds_until(played[:99], 0.0) is None


def test_a_slow_reference_finds_the_same_time() -> None:
    draws = random.Random(1)
    for _ in range(20):
        played = [Episode("m0", "p", float(at), draws.gauss(at / 100, 1)) for at in range(250)]
        target = draws.uniform(0.3, 2.0)
        means = {
            end: sum(one.value for one in played[end - 99 : end + 1]) / 100
            for end in range(99, 250)
        }
        reached = [end for end, mean in means.items() if mean >= target]
        assert seconds_until(played, target) == (float(reached[0]) if reached else None)
