"""Plackett-Luce against its oracles, its ties written out, and the coverage of its intervals."""

from itertools import combinations, permutations

import choix
import numpy as np
import pytest
from numpy.typing import NDArray

from arena.stats.bradley_terry import ELO_PER_NAT, NORMAL_975, PairResult, Rating
from arena.stats.plackett_luce import MAX_TIED, Ranking, fit_jointly, fit_rankings
from arena.stats.rating_fit import RatingFit
from pbt.errors import EngineError
from tests.arena.stats.test_bradley_terry import plain

NAMES = ("random", "a", "b", "c", "d", "e")


def simulated(
    rng: np.random.Generator, games: int, seats: int, elo: NDArray[np.float64]
) -> list[Ranking[str]]:
    """Exponential races: the first to arrive is chosen in proportion to its speed."""
    found = []
    for _ in range(games):
        players = rng.choice(len(elo), seats, replace=False)
        places = np.argsort(np.argsort(rng.exponential(10 ** (-elo[players] / 400))))
        found.append(
            Ranking(tuple(NAMES[i] for i in players), tuple(int(place) + 1 for place in places))
        )
    return found


def assert_equal(ours: list[Rating[str]], theirs: list[Rating[str]]) -> None:
    assert [(rating.player, rating.games) for rating in ours] == [
        (rating.player, rating.games) for rating in theirs
    ]
    for one, other in zip(ours, theirs, strict=True):
        assert (one.elo, one.low, one.high) == pytest.approx(
            (other.elo, other.low, other.high), abs=1e-6
        )


def by_player(ratings: list[Rating[str]]) -> dict[str, tuple[float, float, float]]:
    return {
        rating.player: (rating.elo or 0.0, rating.low or 0.0, rating.high or 0.0)
        for rating in ratings
    }


def assert_elo_equal(ours: list[Rating[str]], theirs: RatingFit[str]) -> None:
    assert {rating.player: rating.elo for rating in ours} == pytest.approx(
        dict(zip(theirs.players, theirs.elo, strict=True)), abs=1e-6
    )


@pytest.mark.parametrize("seed", range(10))
def test_without_prior_and_ties_it_is_the_maximum_likelihood_that_choix_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rankings = simulated(rng, 60, int(rng.integers(2, 6)), rng.normal(0, 100, len(NAMES)))
    ordered = [
        [NAMES.index(player) for _, player in sorted(zip(game.places, game.players, strict=True))]
        for game in rankings
    ]
    oracle = choix.ilsr_rankings(len(NAMES), ordered, max_iter=10_000, tol=1e-12) * ELO_PER_NAT
    found = by_player(fit_rankings(rankings, "random", prior_draws=0))
    for i, name in enumerate(NAMES):
        assert found[name][0] == pytest.approx(oracle[i] - oracle[0], abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_with_prior_and_ties_it_is_what_choix_finds_in_all_orders_of_the_tied(seed: int) -> None:
    """Every three of four players meet equally often.

    So every two have a third of a virtual draw: a sixth of a win for either. A game is written 12
    times, in all orders of its ties, and that sixth twice.
    """
    rng = np.random.default_rng(seed)
    rankings, written = [], [(i, j) for i, j in permutations(range(4), 2) for _ in range(2)]
    for seats in list(combinations(range(4), 3)) * 5:
        places = rng.integers(1, 4, 3).tolist()
        rankings.append(Ranking(tuple(NAMES[i] for i in seats), tuple(places)))
        orders = [
            order
            for order in permutations(range(3))
            if [places[k] for k in order] == sorted(places)
        ]
        written += [tuple(seats[k] for k in order) for order in orders] * (12 // len(orders))
    oracle = choix.ilsr_rankings(4, written, max_iter=10_000, tol=1e-12) * ELO_PER_NAT
    found = by_player(fit_rankings(rankings, "random"))
    for i, name in enumerate(NAMES[:4]):
        assert found[name][0] == pytest.approx(oracle[i] - oracle[0], abs=1e-5)


def test_for_two_players_without_ties_and_prior_it_is_bradley_terry() -> None:
    rng = np.random.default_rng(4)
    rankings, results = [], []
    for _ in range(300):
        a, b = (NAMES[i] for i in rng.choice(len(NAMES), 2, replace=False))
        won = bool(rng.random() < 0.5)
        rankings.append(Ranking((a, b), (1 + (not won), 1 + won)))
        results.append(PairResult(a, b, float(won), 0.0, float(not won)))
    assert_elo_equal(fit_rankings(rankings, "random", 0), plain(results, "random"))


def test_the_covariance_gives_the_intervals_against_any_anchor() -> None:
    games = simulated(np.random.default_rng(8), 200, 3, np.arange(len(NAMES)) * 60.0)
    fit, other = fit_jointly(games, "random"), by_player(fit_rankings(games, "c"))
    at, c = fit.players.index("a"), fit.players.index("c")
    covariance = fit.covariance
    assert not covariance[fit.players.index("random")].any()
    error = np.sqrt(covariance[at, at] + covariance[c, c] - 2 * covariance[at, c])
    value, low, high = other["a"]
    assert fit.values[at] - fit.values[c] == pytest.approx(value, abs=1e-6)
    assert high - low == pytest.approx(2 * NORMAL_975 * error)


def test_a_tie_is_every_order_of_the_tied_with_an_equal_share() -> None:
    rest = simulated(np.random.default_rng(6), 40, 4, np.zeros(len(NAMES)))
    tied = Ranking(("a", "b", "c", "d", "random"), (2, 1, 2, 2, 9))
    orders = [
        Ranking(("b", *order, "random"), (1, 2, 3, 4, 5)) for order in permutations(("a", "c", "d"))
    ]
    assert_equal(
        fit_rankings(rest + [tied] * 6, "random", 0), fit_rankings(rest + orders, "random", 0)
    )


def test_only_ties_are_even_however_many() -> None:
    for seats in (3, MAX_TIED + 4):
        names = ["random", *(f"p{i}" for i in range(1, seats))]
        ratings = fit_rankings([Ranking(tuple(names), (1,) * seats)] * 5, "random")
        assert [rating.elo for rating in ratings] == pytest.approx([0.0] * seats, abs=1e-6)
        for rating in ratings:
            assert rating.player == "random" or (rating.high or 0) > 20


def test_order_of_games_and_seats_changes_nothing() -> None:
    rng = np.random.default_rng(8)
    rankings = simulated(rng, 200, 4, np.array([0.0, 50, 100, 150, 200, 250]))
    shuffled = []
    for i in rng.permutation(len(rankings)):
        seats = rng.permutation(4)
        shuffled.append(
            Ranking(
                tuple(rankings[i].players[k] for k in seats),
                tuple(10 * rankings[i].places[k] for k in seats),
            )
        )
    assert_equal(fit_rankings(shuffled, "random"), fit_rankings(rankings, "random"))


def test_a_sweep_stays_finite_with_the_prior_only() -> None:
    swept = [Ranking(("a", "b", "random"), (1, 2, 3))] * 20
    found = by_player(fit_rankings(swept, "random"))
    assert 0 < found["b"][0] < found["a"][0] < 3000
    with pytest.raises(EngineError, match="did not converge"):
        fit_rankings(swept, "random", prior_draws=0)


def test_several_seats_for_one_player() -> None:
    """Two even seats of a against one of random: a comes first two times of three.

    The order of its own two seats says nothing.
    """
    games = [Ranking(("a", "a", "random"), places) for places in permutations((1, 2, 3))]
    assert by_player(fit_rankings(games, "random"))["a"][0] == pytest.approx(0, abs=1e-6)
    alone = fit_rankings([*games, Ranking(("b", "b"), (1, 2))], "random")
    assert {rating.player: (rating.elo is not None) for rating in alone} == {
        "a": True,
        "random": True,
        "b": False,
    }


def test_players_no_chain_connects_have_no_rating_and_nonsense_is_refused() -> None:
    apart = fit_rankings(
        [Ranking(("a", "random", "b"), (1, 2, 3)), Ranking(("c", "d", "e"), (1, 1, 2))], "random"
    )
    assert {rating.player for rating in apart if (rating.elo is not None)} == {"a", "b", "random"}
    assert fit_rankings([], "random") == []
    assert not any(
        (rating.elo is not None) for rating in fit_rankings([Ranking(("c", "d"), (1, 2))], "random")
    )
    for bad in (Ranking(("a",), (1,)), Ranking(("a", "b"), (1,))):
        with pytest.raises(EngineError, match="at least two players and a place for each"):
            fit_rankings([bad], "random")


def test_the_interval_holds_the_truth_in_95_of_100() -> None:
    """6 players, 100 games of four, 300 leagues make 1500 intervals.

    A binomial of 95 % lies within 1.7 % of it.
    """
    rng, truth = np.random.default_rng(12), np.array([0.0, 60, 120, 180, 240, 300])
    inside = total = 0
    for _ in range(300):
        for rating in fit_rankings(simulated(rng, 100, 4, truth), "random"):
            if rating.player != "random" and rating.low is not None and rating.high is not None:
                inside += rating.low <= truth[NAMES.index(rating.player)] <= rating.high
                total += 1
    print(f"Plackett-Luce: {100 * inside / total:.1f} % of {total} intervals hold the truth")
    assert total == 1500
    assert 0.933 <= inside / total <= 0.97


def test_games_that_ended_alike_may_be_counted_together() -> None:
    games = simulated(np.random.default_rng(8), 200, 3, np.array([0.0, 100, 200, 0, 50, 150]))
    counted = [Ranking(ending.players, ending.places, games.count(ending)) for ending in set(games)]
    assert len(counted) < len(games)
    assert_equal(fit_rankings(counted, "random"), fit_rankings(games, "random"))


def test_without_an_anchor_the_mean_is_0_as_in_bradley_terry() -> None:
    results = [
        PairResult("a", "b", 7, 0, 3),
        PairResult("b", "c", 6, 0, 5),
        PairResult("c", "a", 2, 0, 8),
    ]
    rankings = [
        Ranking((r.a, r.b), places, int(games))
        for r in results
        for places, games in (((0, 1), r.wins), ((1, 0), r.losses))
    ]
    assert_elo_equal(fit_rankings(rankings, None, 0), plain(results, None))
