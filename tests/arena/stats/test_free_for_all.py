"""Free-for-all statistics by hand, at their edges, and the coverage of the block bootstrap."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from arena.stats.bootstrap import mean_intervals
from arena.stats.free_for_all import RankedGame, free_for_all
from arena.stats.intervals import wilson_interval
from arena.stats.score import pair_interval
from pbt.errors import EngineError

Game = RankedGame[str]


def rotations(places: list[tuple[int, ...]], block: int) -> list[Game]:
    """Places of a, b, c by game of one block."""
    return [RankedGame(("a", "b", "c"), row, block) for row in places]


def test_places_by_hand() -> None:
    """a: 1, 1, tied 2-3; b: tied 2-3, 2, 1; c: tied 2-3, 3, tied 2-3."""
    found = free_for_all(rotations([(1, 2, 2), (1, 2, 3), (2, 1, 2)], 0))
    assert [standing.player for standing in found.standings] == ["a", "b", "c"]
    assert [standing.mean_place.value for standing in found.standings] == pytest.approx(
        [4.5 / 3, 5.5 / 3, 8 / 3]
    )
    assert [standing.first.value for standing in found.standings] == pytest.approx(
        [2 / 3, 1 / 3, 0]
    )
    assert [standing.places for standing in found.standings] == [
        (2, 0.5, 0.5),
        (1, 1.5, 0.5),
        (0, 1, 2),
    ]
    assert found.score == pytest.approx(
        np.array([[0.5, 2 / 3, 5 / 6], [1 / 3, 0.5, 5 / 6], [1 / 6, 1 / 6, 0.5]])
    )
    assert (found.games, found.blocks, found.left_out) == (3, 1, 0)


def test_a_game_won_by_two_is_half_a_win_for_each() -> None:
    found = free_for_all(rotations([(1, 1, 2), (1, 2, 1), (3, 1, 2)], 0))
    assert {standing.player: standing.first.value for standing in found.standings} == pytest.approx(
        {"a": 1 / 3, "b": 1 / 2, "c": 1 / 6}
    )


def test_intervals_of_few_blocks_are_as_wide_as_students() -> None:
    """For normal means of twelve blocks, the expanded percentile is t(0.975, 11) = 2.200985."""
    scores = np.linspace(0.3, 0.7, 12)[:, None]
    _, low, high = mean_intervals(scores, np.ones(12), np.random.default_rng(2), resamples=100_000)
    assert (high - low)[0] / 2 == pytest.approx(
        2.200985 * float(scores.std(ddof=1)) / math.sqrt(12), rel=0.02
    )


def test_the_seat_is_not_the_player() -> None:
    turned = [
        RankedGame(("b", "c", "a"), (2, 3, 1), 0),
        RankedGame(("c", "a", "b"), (3, 1, 2), 0),
        RankedGame(("a", "b", "c"), (1, 2, 3), 0),
    ]
    assert [
        (standing.player, standing.mean_place.value) for standing in free_for_all(turned).standings
    ] == [("a", 1.0), ("b", 2.0), ("c", 3.0)]


def test_unfinished_blocks_are_left_out_and_games_without_one_stand_alone() -> None:
    whole = rotations([(1, 2, 3), (2, 1, 3), (1, 3, 2)], 0)
    found = free_for_all([*whole, *rotations([(3, 2, 1)], 1)])
    assert (found.games, found.left_out) == (3, 1)
    assert found.standings == free_for_all(whole).standings
    alone = free_for_all([RankedGame(("a", "b", "c"), (1, 2, 3), None)] * 20)
    assert (alone.games, alone.blocks) == (20, 20)


def test_what_never_varies_still_has_an_interval() -> None:
    """Always the same order in 40 blocks: Wilson over blocks, as for a score of 0 or 1."""
    found = free_for_all(
        [game for block in range(40) for game in rotations([(1, 2, 3)] * 3, block)]
    )
    best = found.standings[0]
    assert (best.first.value, best.first.high) == (1.0, 1.0)
    assert best.first.low == pytest.approx(wilson_interval(1.0, 40)[0])
    assert best.mean_place.high == pytest.approx(1 + 2 * wilson_interval(0.0, 40)[1])
    assert found.low[0, 1] == pytest.approx(wilson_interval(1.0, 40)[0])


def test_nonsense_is_refused() -> None:
    with pytest.raises(EngineError, match="without a finished game"):
        free_for_all([])
    with pytest.raises(EngineError, match="expected at least two players"):
        free_for_all([RankedGame(("a",), (1,), 0)])
    for bad in (
        RankedGame(("a", "b"), (1, 2), 0),
        RankedGame(("a", "b", "c"), (1, 2), 0),
    ):
        with pytest.raises(EngineError, match="expected 3 players, and a place for each of"):
            free_for_all([*rotations([(1, 2, 3)], 0), bad])
    with pytest.raises(EngineError, match="block 0 has 4 games; expected 3"):
        free_for_all(rotations([(1, 2, 3)] * 4, 0))
    for totals, games in (
        (np.ones((2, 1)), np.ones(3)),
        (np.ones((2, 1)) * 2, np.ones(2)),
        (np.ones((0, 1)), np.ones(0)),
        (np.ones((2, 2)), np.array([[1.0, 0.0], [1.0, 0.0]])),
    ):
        with pytest.raises(EngineError, match="expected a row per block"):
            mean_intervals(totals, games, np.random.default_rng(0))


def test_a_player_in_several_seats_counts_with_the_mean_over_them() -> None:
    """One a among two b, then one b among two a; places 1-2-3 from the left."""
    games = [
        RankedGame(("a", "b", "b"), (1, 2, 3), 0),
        RankedGame(("a", "b", "a"), (1, 2, 3), 0),
    ]
    found = free_for_all(games, block_games=2)
    assert [(one.player, one.mean_place.value) for one in found.standings] == [
        ("a", (1 + 2) / 2),
        ("b", (2.5 + 2) / 2),
    ]
    assert [one.first.value for one in found.standings] == [(1 + 0.5) / 2, 0.0]
    assert found.standings[0].places == (1.5, 0, 0.5)
    assert found.score[0, 1] == pytest.approx((1 + 0.5) / 2)
    assert (found.games, found.blocks) == (2, 1)


def test_players_who_never_met_have_no_score() -> None:
    games = [RankedGame(("a", "b"), (1, 2), None), RankedGame(("c", "b"), (1, 2), None)] * 12
    found = free_for_all(games)
    at = [one.player for one in found.standings]
    assert math.isnan(found.score[at.index("a"), at.index("c")])
    assert found.score[at.index("a"), at.index("b")] == 1.0
    assert [sum(one.places) for one in found.standings] == [12, 12, 24]


def test_one_among_equal_copies_is_even_whatever_the_number_of_copies() -> None:
    """Of 200 matches of equals at a table of four, 95 % within 4.7 % hold a score of one half."""
    rng, inside = np.random.default_rng(11), 0
    seats = [tuple("a" if seat == one else "b" for seat in range(4)) for one in range(4)]
    seats += [tuple("b" if name == "a" else "a" for name in game) for game in seats]
    for _ in range(200):
        games = [
            RankedGame(players, tuple(int(place) for place in rng.permutation(4)), block)
            for block in range(12)
            for players in seats
        ]
        found = free_for_all(games, block_games=8)
        inside += bool(found.low[0, 1] <= 0.5 <= found.high[0, 1])
    assert abs(inside / 200 - 0.95) < 0.047


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60
    ),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_nothing_is_ever_nan_and_equal_games_give_equal_intervals(
    places: list[tuple[int, int, int]], blocks: bool
) -> None:
    games = [
        RankedGame(("a", "b", "c"), row, i // 3 if blocks else None) for i, row in enumerate(places)
    ]
    found = free_for_all(games)
    for standing in found.standings:
        for measure, least, most in ((standing.mean_place, 1, 3), (standing.first, 0, 1)):
            assert least <= measure.low <= measure.value <= measure.high <= most
        assert sum(standing.places) == pytest.approx(found.games)
    assert np.all(
        (found.low >= 0)
        & (found.low <= found.score)
        & (found.score <= found.high)
        & (found.high <= 1)
    )
    assert found.score + found.score.T == pytest.approx(np.ones((3, 3)))
    assert free_for_all(games).standings == found.standings
    assert sum(standing.mean_place.value for standing in found.standings) == pytest.approx(6)


def test_for_two_players_it_is_the_pair_interval() -> None:
    """Blocks of two games are pairs, and both intervals agree within a thirtieth.

    That is how far quantiles of 4000 resamples vary.
    """
    counts = (8, 31, 96, 48, 17)
    games: list[Game] = []
    for points, number in enumerate(counts):
        for _ in range(number):
            block = len(games)
            rows = {0: (3, 3), 1: (3, 2), 2: (1, 3), 3: (1, 2), 4: (1, 1)}[points]
            games += [RankedGame(("a", "b"), (row, 2), block) for row in rows]
    found = free_for_all(games)
    low, high = pair_interval(counts)
    assert found.score[0, 1] == pytest.approx(217.5 / 400)
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx((low, high), abs=(high - low) / 30)


def simulated(rng: np.random.Generator, matches: int, blocks: int) -> NDArray[np.float64]:
    """[matches, blocks, 8] mean places (0 to 1) and first places of four players.

    They are summed over the four games of a block, whose seed moves the strengths.
    """
    strength = np.array([0.0, 0.3, 0.6, 0.9]) + rng.normal(0, 0.5, (matches, blocks, 1, 4))
    arrival = rng.exponential(np.exp(-strength), (matches, blocks, 4, 4))
    place = arrival.argsort(-1).argsort(-1)
    return np.concatenate([(place / 3).sum(2), (place == 0).sum(2)], axis=-1).astype(np.float64)


def coverage(blocks: int, matches: int, resamples: int) -> NDArray[np.float64]:
    """[8] share of intervals that hold the truth, which is what 200 000 blocks say."""
    rng = np.random.default_rng(21)
    truth, inside = simulated(rng, 1, 200_000)[0].mean(0) / 4, np.zeros(8)
    for _ in range(matches):
        _, low, high = mean_intervals(
            simulated(rng, 1, blocks)[0], np.full(blocks, 4.0), rng, resamples
        )
        inside += (low <= truth) & (truth <= high)
    print(
        f"{blocks} blocks of four games: "
        + ", ".join(f"{100 * share:.1f} %" for share in inside / matches)
    )
    return inside / matches


def test_the_interval_holds_the_truth_in_95_of_100() -> None:
    """Of 1000 matches, each measure covers 95 % within 2.1 %, and the mean of eight within 1 %.

    2.1 % are three standard deviations of the binomial.
    """
    found = coverage(100, 1000, 500)
    assert 0.94 <= float(found.mean()) <= 0.96
    assert np.all((found > 0.929) & (found < 0.971)), found


@pytest.mark.slow
def test_each_interval_holds_the_truth_in_94_to_96_of_100() -> None:
    found = coverage(100, 4000, 500)
    assert np.all((found >= 0.94) & (found <= 0.96)), found


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [10, 20, 50])
def test_few_blocks_cover_nearly_as_often(blocks: int) -> None:
    assert float(coverage(blocks, 1000, 500).mean()) > 0.93


def test_a_block_shared_by_seed_is_not_four_games() -> None:
    """All games of a block are alike here; drawing single games would halve the interval."""
    rng = np.random.default_rng(3)
    won = rng.random(100) < 0.5
    _, low, high = mean_intervals(4.0 * won[:, None], np.full(100, 4.0), rng)
    _, short, long = mean_intervals(np.repeat(won, 4)[:, None].astype(float), np.ones(400), rng)
    assert math.isclose((high - low)[0], 2 * (long - short)[0], rel_tol=0.1)
