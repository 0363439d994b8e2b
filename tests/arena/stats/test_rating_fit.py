"""Ratings with seats and ties: closed forms, invariances, and what is open."""

import math
import time
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.meetings import Meetings
from arena.stats.rating_fit import RatingFit, fit_meetings
from arena.stats.seat_advantage import worth_at
from bench.rating_batch_fits import Fits
from bench.rating_batches import Leagues
from bench.simulated_leagues import Cell, cells, drawn
from pbt.errors import EngineError
from tests.arena.stats.slow_davidson import random_meetings

LADDER = Cell(
    "ladder", (0.0, 150.0, 300.0, 450.0), ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)), 40, 20
)


def meetings(*rows: tuple[int, int, list[list[int]]]) -> Meetings:
    """Single games of (i, j, [[wins, draws, losses of i in the first seat], [in the second]])."""
    return Meetings(
        np.array([row[0] for row in rows], dtype=np.intp),
        np.array([row[1] for row in rows], dtype=np.intp),
        np.zeros((len(rows), 3, 3)),
        np.array([row[2] for row in rows], dtype=float).reshape(-1, 2, 3),
    )


def fitted(players: int, games: Meetings, anchor: int | None = 0, **how: bool) -> RatingFit[int]:
    fit = fit_meetings(range(players), games, anchor, **how)
    assert fit is not None
    return fit


def test_two_players_without_seats_are_jeffreys() -> None:
    """Half a win is added to either side: 10.5 to 0.5."""
    fit = fitted(2, meetings((1, 0, [[10, 0, 0], [0, 0, 0]])), seated=False)
    assert fit.elo == pytest.approx([0, 400 * math.log10(10.5 / 0.5)])
    assert (fit.seat, fit.tie) == (None, None)


def test_two_players_with_seats_are_jeffreys_in_either_seat() -> None:
    fit = fitted(2, meetings((1, 0, [[30, 0, 5], [20, 0, 12]])))
    first, second = math.log(30.5 / 5.5), math.log(20.5 / 12.5)
    assert fit.elo[1] == pytest.approx((first + second) / 2 * ELO_PER_NAT)
    assert fit.seat is not None
    assert fit.seat.at(1234.0) == pytest.approx((first - second) / 2 * ELO_PER_NAT)
    assert fit.seat.slope is None


def test_two_players_with_ties_are_jeffreys_of_three_outcomes() -> None:
    """Half a game is added to every outcome: 20.5 wins, 15.5 ties, 5.5 losses."""
    fit = fitted(2, meetings((1, 0, [[20, 15, 5], [0, 0, 0]])), seated=False)
    assert fit.elo[1] == pytest.approx(ELO_PER_NAT * math.log(20.5 / 5.5))
    assert fit.tie == pytest.approx(15.5 / math.sqrt(20.5 * 5.5))
    assert fit.score(fit.elo[1:]) == pytest.approx((20.5 + 15.5 / 2) / 41.5)


def test_equals_of_which_one_always_sits_first_are_equal() -> None:
    """An advantage of 300 Elo is the seat's. A model without it calls them 40 Elo apart."""
    rng = np.random.default_rng(1)
    always = Cell("first", (0.0, 0.0, 0.0), ((0, 1), (0, 2), (1, 2)), 2000, 0, seat=300.0)
    games = drawn(always, rng)
    single = np.zeros((3, 2, 3))
    # Player 1 meets player 2 in the first seat only.
    single[2, 0] = games.paired[2].sum(1)
    paired = games.paired * np.array([1, 1, 0])[:, None, None]
    fit = fitted(3, Meetings(games.first, games.second, paired, single))
    assert np.abs(fit.elo).max() < 15
    assert fit.seat is not None
    assert fit.seat.overall is not None
    assert fit.seat.at(0.0) == fit.seat.overall.value
    assert fit.seat.overall.low < 300 < fit.seat.overall.high
    assert fit.seat.overall.high - fit.seat.overall.low < 30


def test_a_large_advantage_of_the_first_seat_moves_no_strength() -> None:
    """A model that does not know the seats finds +450 to be about +300."""
    cell = Cell("", LADDER.strength, LADDER.met, 1000, 0, seat=300.0)
    games = drawn(cell, np.random.default_rng(4))
    fit = fitted(4, games)
    for row in fit.differences(0)[1:]:
        assert abs(row.elo - cell.strength[row.player]) < 4 * math.sqrt(
            fit.covariance[row.player, row.player]
        )
    assert fitted(4, games, seated=False).elo[3] < 350


def test_strong_players_are_not_pulled_towards_the_anchor() -> None:
    """A ladder to +1300, on which the best player is expected to lose seven games.

    One virtual draw for each player put it 83 Elo too low, three quarters of a standard error.
    """
    cell = next(cell for cell in cells() if cell.name == "strong-1300-0-ladder")
    games = [drawn(cell, np.random.default_rng(seed)) for seed in range(150)]
    best = Fits(Leagues.of(games, len(cell.strength))).beta[:, len(cell.strength) - 2]
    bias = best.mean() * ELO_PER_NAT - cell.strength[-1]
    assert abs(bias) < 0.25 * best.std() * ELO_PER_NAT


def test_one_order_of_seats_says_nothing_of_the_seat() -> None:
    chain = meetings((0, 1, [[5, 0, 9], [0, 0, 0]]), (1, 2, [[5, 0, 9], [0, 0, 0]]))
    fit = fitted(3, chain)
    assert fit.seat is None
    assert fit.why_no_seat is not None
    assert "one order of seats only" in fit.why_no_seat
    assert fit.elo == pytest.approx(fitted(3, chain, seated=False).elo)
    # A third meeting against the order of strengths tells the seat from them.
    assert fitted(3, meetings(*rows(chain), (2, 0, [[5, 0, 9], [0, 0, 0]]))).seat is not None


def rows(games: Meetings) -> Iterator[tuple[int, int, list[list[int]]]]:
    for i, j, single in zip(games.first, games.second, games.single, strict=True):
        yield int(i), int(j), single.tolist()


def test_an_advantage_that_grows_with_strength_is_found_and_a_level_one_is_not() -> None:
    rng = np.random.default_rng(2)
    grown = 0
    for slope in (0.0, 0.5):
        cell = Cell("", LADDER.strength, LADDER.met, 400, 0, seat=50.0, slope=slope)
        seat = fitted(4, drawn(cell, rng)).seat
        assert seat is not None
        assert (seat.slope is not None) == (slope > 0)
        grown += seat.slope is not None
        assert (seat.overall is None) == (slope > 0)
        assert seat.at_best is not None
        assert seat.at_best.low < 50 + slope * 450 < seat.at_best.high
        assert abs(seat.at(0.0) - 50) < 30
    assert grown == 1


def test_the_advantage_at_the_best_doubts_whether_it_grows() -> None:
    """Where few games do not show that it grows, gamma0 alone is far from 300, and sure of it."""
    cell = next(cell for cell in cells() if cell.name == "rising-0-sparse")
    held = sure = told = 0
    for seed in range(40):
        seat = fitted(8, drawn(cell, np.random.default_rng(seed))).seat
        assert seat is not None
        if seat.slope is None and seat.at_best is not None:
            assert seat.overall is not None
            told += 1
            held += seat.at_best.low <= 300 <= seat.at_best.high
            sure += seat.overall.low <= 300 <= seat.overall.high
    assert told >= 15
    assert sure / told < 0.5
    assert held / told > 0.85


def test_the_advantage_at_the_best_is_a_quadratic_around_its_estimate() -> None:
    """The delta method against the spread of draws from the parameters' normal distribution."""
    cell = Cell("", LADDER.strength, LADDER.met, 400, 0, seat=50.0, slope=0.5)
    fit = fitted(4, drawn(cell, np.random.default_rng(2)))
    point = fit.fitted.sloped
    assert point is not None
    at_best = worth_at(point, 3)
    rng = np.random.default_rng(3)
    beta = rng.multivariate_normal(point.beta, point.covariance, 200_000)
    drawn_at = beta[:, 4] + beta[:, 5] * beta[:, 3]
    # The sandwich of these games is about the model, and Student's t about normal.
    assert at_best.high - at_best.low == pytest.approx(2 * 1.96 * drawn_at.std(), rel=0.1)
    assert at_best.value == pytest.approx(drawn_at.mean(), abs=0.05 * drawn_at.std())
    assert fit.seat is not None
    assert fit.seat.at_best == at_best.times(ELO_PER_NAT)


def test_a_gauge_changes_nothing_but_the_zero() -> None:
    """Another anchor, or none: the same differences, and the same advantage at each strength."""
    cell = Cell("", LADDER.strength, LADDER.met, 200, 50, seat=50.0, slope=0.5, ties=0.3)
    games = drawn(cell, np.random.default_rng(3))
    fits = [fitted(4, games, anchor) for anchor in (0, 2, None)]
    assert fits[2].elo.mean() == pytest.approx(0, abs=1e-9)
    for fit in fits:
        shift = fit.elo[0]
        assert fit.elo - shift == pytest.approx(fits[0].elo, abs=1e-5)
        assert fit.tie == pytest.approx(fits[0].tie)
        assert fit.seat is not None
        assert fits[0].seat is not None
        assert fit.seat.at(300 + shift) == pytest.approx(fits[0].seat.at(300), abs=1e-4)
        assert fit.seat.at_best == pytest.approx(fits[0].seat.at_best, abs=1e-3)
        theirs, ours = fit.difference(3, 1), fits[0].difference(3, 1)
        assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high), abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_order_of_players_and_which_is_named_first_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    games = random_meetings(rng, 5)
    order = rng.permutation(5)
    turned = Meetings(
        order[games.second],
        order[games.first],
        games.paired[:, ::-1, ::-1].transpose(0, 2, 1),
        games.single[:, ::-1, ::-1],
    )
    one, other = fitted(5, games), fitted(5, turned, int(order[0]))
    assert other.elo[order] == pytest.approx(one.elo, abs=1e-6)
    assert other.covariance[np.ix_(order, order)] == pytest.approx(one.covariance, abs=1e-3)
    for ours in one.differences(0):
        theirs = other.difference(int(order[ours.player]), int(order[0]))
        assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high), abs=1e-3)


def test_a_player_that_never_lost_has_a_lower_end_only() -> None:
    ladder = meetings(
        (0, 1, [[3, 0, 9], [2, 0, 8]]),
        (1, 2, [[0, 0, 20], [0, 0, 20]]),
        (2, 3, [[4, 1, 6], [5, 1, 5]]),
    )
    fit = fitted(4, ladder)
    found = {row.player: row for row in fit.differences(0)}
    assert (found[0].elo, found[0].low, found[0].high, found[0].why_open) == (0, 0, 0, None)
    assert found[1].low is not None
    assert found[1].high is not None
    for player in (2, 3):
        row = found[player]
        assert row.high is None
        assert row.low is not None
        assert 200 < row.low < row.elo < 2000
        assert row.why_open == f"no chain of wins or draws leads from 0 to {player}"
    # From above, the others are open below.
    mirrored = fit.difference(0, 3)
    assert mirrored.low is None
    assert mirrored.high == pytest.approx(-(found[3].low or 0), abs=0.05)
    assert fit.difference(3, 2).why_open is None
    # Against the mean: the two above lost to none of the two below.
    assert {row.player for row in fit.differences(None) if row.why_open} in ({0, 1}, {2, 3})
    # One draw closes it.
    closed = fitted(4, meetings(*rows(ladder), (0, 3, [[0, 1, 5], [0, 0, 5]])))
    assert all(row.why_open is None for row in closed.differences(0))


def test_ten_straight_wins_stay_finite() -> None:
    fit = fitted(2, meetings((1, 0, [[5, 0, 0], [5, 0, 0]])))
    row = fit.difference(1, 0)
    assert row.low is not None
    assert 0 < row.low < row.elo < 1000
    assert row.high is None


def test_a_first_seat_that_always_wins_leaves_strengths_open_to_all_values() -> None:
    """The interval of the difference is as wide as such games deserve, and all is finite."""
    fit = fitted(2, meetings((1, 0, [[10, 0, 0], [0, 0, 10]])))
    row = fit.difference(1, 0)
    assert row.elo == pytest.approx(0, abs=1e-6)
    assert row.low is not None
    assert row.high is not None
    assert row.high - row.low > 400


def test_errors_of_the_covariance_are_about_the_width_of_intervals() -> None:
    cell = Cell("", LADDER.strength, LADDER.met, 300, 100, seat=100.0, ties=0.3)
    fit = fitted(4, drawn(cell, np.random.default_rng(5)))
    for row in fit.differences(0)[1:]:
        assert row.low is not None
        assert row.high is not None
        error = math.sqrt(fit.covariance[row.player, row.player])
        assert row.high - row.low == pytest.approx(2 * 1.96 * error, rel=0.03)
    assert fit.covariance[0] == pytest.approx(np.zeros(4))


def test_what_cannot_be_rated() -> None:
    games = meetings((0, 1, [[3, 0, 2], [1, 0, 4]]), (2, 3, [[1, 0, 0], [0, 0, 0]]))
    fit = fitted(5, games)
    assert fit.players == (0, 1)
    assert fit.games == {0: 10, 1: 10, 2: 1, 3: 1, 4: 0}
    assert fitted(5, games, 4).players == (4,)
    assert fitted(5, games, 4).differences(4)[0].high == 0
    assert fit_meetings([], meetings(), None) is None
    assert fit_meetings(["a", "b"], games.among(np.arange(5) < 2), "random") is None
    with pytest.raises(ValueError, match="not in tuple"):
        fit.difference(2, 0)


@pytest.mark.parametrize(
    ("first", "second", "single", "said"),
    [
        ([0], [0], np.ones((1, 2, 3)), "two different players"),
        ([0, 1], [1, 0], np.ones((2, 2, 3)), "each two only once"),
        ([0], [1], -np.ones((1, 2, 3)), "finite counts"),
        ([0], [1], np.full((1, 2, 3), np.nan), "finite counts"),
        ([0], [1], np.ones((1, 3, 3)), "expected"),
    ],
)
def test_meetings_are_checked(
    first: list[int], second: list[int], single: NDArray[np.float64], said: str
) -> None:
    with pytest.raises(EngineError, match=said):
        Meetings(np.array(first), np.array(second), np.zeros((len(first), 3, 3)), single)


def test_among_many_players_intervals_are_about_those_of_the_profile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Newcomers with few games, and a player that never lost, among 64."""
    rng = np.random.default_rng(9)
    strength = (*(20.0 * i for i in range(62)), 600.0, 1900.0)
    met = tuple((i, j) for i in range(62) for j in range(i + 1, 62) if j - i in (1, 3, 7, 15))
    few, strong = ((10, 62), (40, 62)), tuple((i, 63) for i in range(46, 61))
    games = drawn(Cell("", strength, met + few + strong, 2, 0, seat=60.0, ties=0.1), rng)
    fit = fitted(64, games)
    fast = fit.differences(0)
    monkeypatch.setattr("arena.stats.fitted.PROFILED_PLAYERS", 1000)
    for player in (5, 20, 61, 62):
        row, slow = fast[player], fit.difference(player, 0)
        assert row.low is not None
        assert row.high is not None
        assert slow.low is not None
        assert slow.high is not None
        width = slow.high - slow.low
        assert abs(row.low - slow.low) < 0.03 * width
        assert abs(row.high - slow.high) < 0.03 * width
    row, slow = fast[63], fit.difference(63, 0)
    assert row.high is None
    assert row.low == pytest.approx(slow.low, abs=0.1 * (row.elo - (slow.low or 0)))


def test_five_hundred_players_take_seconds() -> None:
    rng = np.random.default_rng(8)
    met = tuple(
        (i, j) for i in range(500) for j in range(i + 1, 500) if j == i + 1 or rng.random() < 0.04
    )
    cell = Cell("", tuple(2.0 * i for i in range(500)), met, 2, 4, seat=60.0, ties=0.2)
    games = drawn(cell, rng)
    begun = time.perf_counter()
    fit = fitted(500, games)
    rows = fit.differences(0)
    assert time.perf_counter() - begun < 20.0
    held = [
        (row.low is None or row.low <= 2.0 * row.player)
        and (row.high is None or 2.0 * row.player <= row.high)
        for row in rows
    ]
    assert np.mean(held) > 0.85
