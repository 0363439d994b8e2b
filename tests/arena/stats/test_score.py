"""Match statistics against known values and at their edges."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.stats.intervals import wilson_interval, with_interval
from arena.stats.normalised_elo import normalised_elo
from arena.stats.score import (
    MatchGame,
    MatchStatistics,
    elo_of_score,
    match_statistics,
    pair_interval,
    superiority,
    tally,
)
from pbt.errors import EngineError


def pairs(*points: tuple[float, float], first: int = 0) -> list[MatchGame]:
    """(A's points seated first, seated second) of each pair."""
    games = []
    for index, (as_first, as_second) in enumerate(points, start=first):
        games += [
            MatchGame(as_first, True, index, f"{index}f"),
            MatchGame(as_second, False, index, f"{index}s"),
        ]
    return games


def match_of_pairs(counts: Sequence[int]) -> MatchStatistics:
    """From pairs by points: 0, 0.5, 1, 1.5, 2."""
    points = ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 0.5), (1.0, 1.0))
    return match_statistics(
        pairs(*(kind for kind, number in zip(points, counts, strict=True) for _ in range(number)))
    )


def published_sample() -> list[MatchGame]:
    """200 pairs, of which 8, 31, 96, 48, 17 are worth 0, 0.5, 1, 1.5, 2 points.

    Of the even pairs, 26 are won and lost, 70 drawn twice.
    """
    even = [(1.0, 0.0)] * 26 + [(0.5, 0.5)] * 70
    return pairs(
        *[(0.0, 0.0)] * 8, *[(0.5, 0.0)] * 31, *even, *[(1.0, 0.5)] * 48, *[(1.0, 1.0)] * 17
    )


def test_a_pentanomial_sample_gives_its_published_figures() -> None:
    found = match_statistics(published_sample())
    assert found.pair_counts == (8, 31, 96, 48, 17)
    assert found.interval == "pairs"
    assert [round(100 * value, 1) for value in (found.score, found.low, found.high)] == [
        54.4,
        51.1,
        57.6,
    ]
    assert found.elo_text == "+30.5 ± 22.6"
    assert found.verdict == "A is stronger"
    assert found.nelo == pytest.approx(46.2, abs=0.05)
    assert round(100 * found.los, 1) == 99.6
    assert found.total.games == 400
    assert found.total.score == 217.5 / 400
    assert (found.as_first.games, found.as_second.games, found.distinct, found.left_out) == (
        200,
        200,
        400,
        0,
    )


def test_the_pair_interval_by_hand() -> None:
    """0.25, 0.5, 0.75 and 1, two, four, two and two times, make a score of 0.6.

    With a quarter each of 0 and 1 the sums are 10.5, 6.25 and (of squares) 4.5.
    """
    mean = 6.25 / 10.5
    games = 10 * mean * (1 - mean) / (4.5 / 10.5 - mean**2)
    low, high = pair_interval((0, 2, 4, 2, 2))
    assert (low, high) == pytest.approx(wilson_interval(0.6, games), abs=1e-12)
    assert (low, high) == pytest.approx((0.4296592, 0.7491664), abs=1e-7)


@pytest.mark.parametrize("number", [10, 20, 50, 200])
def test_one_more_lost_game_is_never_better(number: int) -> None:
    """From all games won to one lost in each pair, the score, its interval and Elo only fall."""
    points = ((1.0, 1.0), (0.0, 1.0))
    matches = [
        match_statistics(pairs(*[points[1]] * lost, *[points[0]] * (number - lost)))
        for lost in range(number)
    ]
    for better, worse in pairwise(matches):
        assert worse.score < better.score and worse.low < better.low and worse.high <= better.high


def test_wilson_known_values() -> None:
    assert wilson_interval(1.0, 10) == pytest.approx((0.7224672, 1.0), abs=1e-6)
    assert wilson_interval(0.0, 10) == pytest.approx((0.0, 0.2775328), abs=1e-6)
    assert wilson_interval(0.5, 100) == pytest.approx((0.4038315, 0.5961685), abs=1e-6)


def test_a_clean_sweep_is_one_sided_and_finite() -> None:
    swept = match_statistics(pairs(*[(1.0, 1.0)] * 5))
    assert (swept.interval, swept.elo, swept.elo_high, swept.elo_text) == (
        "games",
        None,
        None,
        "above +166",
    )
    lost = match_statistics(pairs(*[(0.0, 0.0)] * 200))
    assert (lost.interval, lost.elo_low) == ("games", None)
    assert lost.elo_text == "below -807"
    assert lost.verdict == "B is stronger"


def test_few_pairs_and_equal_pairs_fall_back_to_games() -> None:
    assert match_statistics(pairs(*[(1.0, 0.5)] * 4, *[(0.0, 1.0)] * 5)).interval == "games"
    equal = match_statistics(pairs(*[(1.0, 0.0)] * 100))
    assert (equal.interval, equal.score, equal.elo_text, equal.verdict) == (
        "games",
        0.5,
        "+0.0 ± 48.0",
        "not decided",
    )
    assert (equal.as_first.wins, equal.as_second.losses) == (100, 100)


def test_unfinished_pairs_are_left_out_and_unpaired_games_stand_alone() -> None:
    whole = pairs(*[(1.0, 0.0), (1.0, 0.5)] * 10)
    extra = MatchGame(1.0, True, 99, "x")
    assert match_statistics([*whole, extra]).left_out == 1
    assert match_statistics([*whole, extra]).total == match_statistics(whole).total
    alone = match_statistics(
        [MatchGame(1.0, True, None, "x")] * 30 + [MatchGame(0.0, True, None, "y")] * 10
    )
    assert (alone.interval, alone.pair_counts, alone.score, alone.distinct) == (
        "games",
        None,
        0.75,
        2,
    )
    assert match_statistics([extra]).total.wins == 1


def test_nonsense_is_refused() -> None:
    with pytest.raises(EngineError, match="without a finished game"):
        match_statistics([])
    with pytest.raises(EngineError, match="pair 0 has 3 games"):
        match_statistics([*pairs((1.0, 0.0)), MatchGame(1.0, True, 0, "x")])
    with pytest.raises(EngineError, match=r"points of a game = 0\.7"):
        tally([0.7])


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=1,
        max_size=80,
    ),
    st.booleans(),
)
def test_nothing_is_ever_nan_or_infinite(points: list[tuple[float, float]], paired: bool) -> None:
    games = pairs(*points)
    found = match_statistics(
        games if paired else [MatchGame(game.points, game.a_first, None, "") for game in games]
    )
    perhaps = (
        found.elo,
        found.elo_low,
        found.elo_high,
        found.nelo,
        found.nelo_low,
        found.nelo_high,
    )
    numbers = [
        found.score,
        found.low,
        found.high,
        found.los,
        *(value for value in perhaps if value is not None),
    ]
    assert all(math.isfinite(value) for value in numbers)
    assert 0 <= found.low <= found.score <= found.high <= 1
    assert 0 <= found.los <= 1
    # Student's interval is wider than the normal one that LOS uses.
    assert found.los > 0.9749 or found.low <= 0.5
    assert found.los < 0.0251 or found.high >= 0.5
    assert "nan" not in found.elo_text
    assert "inf" not in found.elo_text
    mirrored = match_statistics(
        [
            MatchGame(1 - game.points, not game.a_first, game.pair if paired else None, "")
            for game in games
        ]
    )
    assert (1 - mirrored.high, 1 - mirrored.low, 1 - mirrored.los) == pytest.approx(
        (found.low, found.high, found.los)
    )
    assert (mirrored.nelo is None) == (found.nelo is None)
    if found.nelo is not None and mirrored.nelo is not None:
        assert -mirrored.nelo == pytest.approx(found.nelo, abs=1e-6)
        assert (mirrored.nelo_high is None) == (found.nelo_low is None)
    if found.nelo_low is not None and mirrored.nelo_high is not None:
        assert -mirrored.nelo_high == pytest.approx(found.nelo_low, abs=1e-6)


def test_elo_of_score() -> None:
    assert elo_of_score(0.5) == 0.0
    assert elo_of_score(10 / 11) == pytest.approx(400.0)
    assert elo_of_score(0.0) is None
    assert elo_of_score(1.0) is None


def test_what_nothing_tells_apart_has_no_normalised_elo() -> None:
    assert match_statistics(pairs(*[(1.0, 1.0)] * 50)).nelo is None
    assert match_statistics(pairs(*[(1.0, 0.0)] * 50)).nelo is None
    assert normalised_elo((0, 0, 100, 0, 0)) is None
    assert (
        superiority((0, 0, 10, 0, 0)),
        superiority((0, 0, 0, 0, 3)),
        superiority((1, 0, 0, 0, 0)),
    ) == (0.5, 1.0, 0.0)
    with pytest.raises(EngineError, match="expected none below 0, and at least one above"):
        superiority((0, 0, 0, 0, 0))


@pytest.mark.parametrize("number", [10, 48])
def test_fewer_than_50_pairs_have_no_normalised_elo(number: int) -> None:
    few = match_statistics(pairs(*[(1.0, 0.5), (0.5, 0.0)] * (number // 2)))
    assert (few.nelo, few.nelo_low, few.nelo_high) == (None, None, None)
    enough = match_statistics(pairs(*[(1.0, 0.5), (0.5, 0.0)] * 25))
    assert enough.nelo is not None
    alone = [MatchGame(float(index % 3 > 0), True, None, "") for index in range(number)]
    assert match_statistics(alone).nelo is None


def test_the_interval_of_normalised_elo_is_a_bootstrap_over_pairs() -> None:
    """Pairs are drawn one by one, a quarter of a lost and a quarter of a won one among them."""
    counts = (2, 5, 20, 31, 42)
    rng = np.random.default_rng(9)
    law = np.array([2.25, 5, 20, 31, 42.25]) / 100.5
    drawn = []
    for _ in range(20_000):
        scores = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], size=100, p=law)
        drawn.append((scores.mean() - 0.5) / scores.std())
    unit = 800 / math.log(10) / math.sqrt(2)
    found = normalised_elo(counts)
    assert found is not None and found[1] is not None and found[2] is not None
    scores = np.repeat([0.0, 0.25, 0.5, 0.75, 1.0], counts)
    assert found[0] == pytest.approx(unit * (scores.mean() - 0.5) / scores.std())
    ends = np.quantile(drawn, [0.0230, 0.9770])
    assert found[1:] == pytest.approx(unit * ends, rel=0.02)


def test_a_normalised_elo_may_have_no_upper_end() -> None:
    found = normalised_elo((0, 0, 1, 0, 99))
    assert found is not None
    assert found[1] is not None and 0 < found[1] < found[0]
    assert found[2] is None
    mirrored = normalised_elo((99, 0, 1, 0, 0))
    assert mirrored == (-found[0], None, -found[1])


def test_few_games_make_no_player_superior() -> None:
    """After one won game, the normal approximation of even odds leaves 16 % to the other side.

    Wilson's interval says the same.
    """
    assert match_statistics([MatchGame(1.0, True, None, "")]).los == pytest.approx(0.8413, abs=1e-4)
    for wins in range(11):
        found = match_statistics(
            [MatchGame(float(game < wins), True, None, "") for game in range(10)]
        )
        assert (found.los > 0.975) == (found.low > 0.5)


def test_an_interval_is_plus_minus_only_where_it_is_even() -> None:
    assert with_interval(12.34, 2.30, 22.38) == "+12.3 ± 10.0"
    assert with_interval(12.34, 2.30, 23.38) == "+12.3 [+2.3, +23.4]"
    assert with_interval(-0.0, -5.0, 5.0) == "+0.0 ± 5.0"
    assert with_interval(-150.0, -300.0, -80.0) == "-150.0 [-300.0, -80.0]"
