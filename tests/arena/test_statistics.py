"""Match statistics against known values, at their edges, and the coverage of their intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.statistics import MatchGame, MatchStatistics, elo_of_score, match_statistics, pair_interval, tally, wilson_interval
from pbt.errors import EngineError


def pairs(*points: tuple[float, float], first: int = 0) -> list[MatchGame]:
    """(A's points seated first, seated second) of each pair."""
    games = []
    for index, (as_first, as_second) in enumerate(points, start=first):
        games += [MatchGame(as_first, True, index, f"{index}f"), MatchGame(as_second, False, index, f"{index}s")]
    return games


def published_sample() -> list[MatchGame]:
    """200 pairs with 8, 31, 96, 48, 17 of them worth 0, 0.5, 1, 1.5, 2 points; 26 of the even ones won and lost, 70 drawn twice."""
    even = [(1.0, 0.0)] * 26 + [(0.5, 0.5)] * 70
    return pairs(*[(0.0, 0.0)] * 8, *[(0.5, 0.0)] * 31, *even, *[(1.0, 0.5)] * 48, *[(1.0, 1.0)] * 17)


def test_a_pentanomial_sample_gives_its_published_figures() -> None:
    found = match_statistics(published_sample())
    assert found.pair_counts == (8, 31, 96, 48, 17)
    assert found.interval == "pairs"
    assert [round(100 * value, 1) for value in (found.score, found.low, found.high)] == [54.4, 51.1, 57.6]
    assert found.elo_text == "+30.5 ± 22.7"
    assert found.verdict == "A is stronger"
    assert found.total.games == 400
    assert found.total.score == 217.5 / 400
    assert (found.as_first.games, found.as_second.games, found.distinct, found.left_out) == (200, 200, 400, 0)


def test_the_pair_interval_by_hand() -> None:
    """Ten values with mean 0.6 and mean square 0.425: variance 0.065; t(0.975, 9) = 2.262157."""
    low, high = pair_interval([0.25, 0.5, 0.75, 1.0, 0.5, 0.5, 0.75, 1.0, 0.5, 0.25])
    half = 2.262157163 * math.sqrt(0.065 / 10)
    assert (low, high) == pytest.approx((0.6 - half, 0.6 + half), abs=1e-9)


def test_wilson_known_values() -> None:
    assert wilson_interval(1.0, 10) == pytest.approx((0.7224672, 1.0), abs=1e-6)
    assert wilson_interval(0.0, 10) == pytest.approx((0.0, 0.2775328), abs=1e-6)
    assert wilson_interval(0.5, 100) == pytest.approx((0.4038315, 0.5961685), abs=1e-6)


def test_a_clean_sweep_is_one_sided_and_finite() -> None:
    swept = match_statistics(pairs(*[(1.0, 1.0)] * 5))
    assert (swept.interval, swept.elo, swept.elo_high, swept.elo_text) == ("games", None, None, "above +166")
    lost = match_statistics(pairs(*[(0.0, 0.0)] * 200))
    assert (lost.interval, lost.elo_low) == ("games", None)
    assert lost.elo_text == "below -807"
    assert lost.verdict == "B is stronger"


def test_few_pairs_and_equal_pairs_fall_back_to_games() -> None:
    assert match_statistics(pairs(*[(1.0, 0.5)] * 4, *[(0.0, 1.0)] * 5)).interval == "games"
    equal = match_statistics(pairs(*[(1.0, 0.0)] * 100))
    assert (equal.interval, equal.score, equal.elo_text, equal.verdict) == ("games", 0.5, "+0.0 ± 48.0", "not decided")
    assert (equal.as_first.wins, equal.as_second.losses) == (100, 100)


def test_unfinished_pairs_are_left_out_and_unpaired_games_stand_alone() -> None:
    whole = pairs(*[(1.0, 0.0), (1.0, 0.5)] * 10)
    extra = MatchGame(1.0, True, 99, "x")
    assert match_statistics([*whole, extra]).left_out == 1
    assert match_statistics([*whole, extra]).total == match_statistics(whole).total
    alone = match_statistics([MatchGame(1.0, True, None, "x")] * 30 + [MatchGame(0.0, True, None, "y")] * 10)
    assert (alone.interval, alone.pair_counts, alone.score, alone.distinct) == ("games", None, 0.75, 2)
    assert match_statistics([extra]).total.wins == 1


def test_nonsense_is_refused() -> None:
    with pytest.raises(EngineError, match="without a finished game"):
        match_statistics([])
    with pytest.raises(EngineError, match="pair 0 has 3 games"):
        match_statistics([*pairs((1.0, 0.0)), MatchGame(1.0, True, 0, "x")])
    with pytest.raises(EngineError, match=r"points of a game = 0\.7"):
        tally([0.7])


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=40), st.booleans())
def test_nothing_is_ever_nan_or_infinite(points: list[tuple[float, float]], paired: bool) -> None:
    games = pairs(*points)
    found = match_statistics(games if paired else [MatchGame(game.points, game.a_first, None, "") for game in games])
    numbers = [found.score, found.low, found.high, *(value for value in (found.elo, found.elo_low, found.elo_high) if value is not None)]
    assert all(math.isfinite(value) for value in numbers)
    assert 0 <= found.low <= found.score <= found.high <= 1
    assert "nan" not in found.elo_text
    assert "inf" not in found.elo_text
    mirrored = match_statistics([MatchGame(1 - game.points, not game.a_first, game.pair if paired else None, "") for game in games])
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((found.low, found.high))


def test_elo_of_score() -> None:
    assert elo_of_score(0.5) == 0.0
    assert elo_of_score(10 / 11) == pytest.approx(400.0)
    assert elo_of_score(0.0) is None
    assert elo_of_score(1.0) is None


def simulated(rng: np.random.Generator, count: int) -> MatchStatistics:
    """Pairs whose two games share the seed's luck: the first move wins more often, and draws occur."""
    points = []
    for _ in range(count):
        edge = rng.normal(0, 0.15)
        games = []
        for sign in (1, -1):
            win = min(max(0.45 + sign * (0.15 + edge), 0), 0.8)
            games.append(float(rng.choice([1.0, 0.5, 0.0], p=[win, 0.2, 0.8 - win])))
        points.append((games[0], games[1]))
    return match_statistics(pairs(*points))


def test_the_interval_holds_the_truth_in_95_of_100() -> None:
    """2000 matches of 50 pairs: the share of a 95 % interval lies within 1.2 % of it. The truth is what they score together, to 0.2 %."""
    rng = np.random.default_rng(17)
    found = [simulated(rng, 50) for _ in range(2000)]
    truth = float(np.mean([result.score for result in found]))
    inside = float(np.mean([result.low <= truth <= result.high for result in found]))
    assert 0.938 <= inside <= 0.962, inside
