"""Ratings: the oracle of results without seats, invariants, and the coverage of intervals."""

import math
import time
from collections import defaultdict
from collections.abc import Iterable

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.stats.bradley_terry import ELO_PER_NAT, P, PairResult
from arena.stats.meetings import seated_games
from arena.stats.rating_fit import RatingFit, fit_meetings
from arena.stats.win_matrix import meetings_of, win_matrix
from pbt.errors import EngineError

Result = PairResult[str]


def fit(results: Iterable[PairResult[P]], anchor: P | None) -> RatingFit[P]:
    """The fit of these results; the player that is named first has the first seat."""
    outcomes: dict[tuple[P, P], list[float]] = defaultdict(lambda: [0.0] * 3)
    for result in results:
        for place, games in enumerate((result.wins, result.draws, result.losses)):
            outcomes[result.a, result.b][place] += games
    found = fit_meetings(*seated_games(outcomes), anchor)
    assert found is not None
    return found


def plain(results: list[PairResult[P]], anchor: P | None) -> RatingFit[P]:
    """The fit without a prior and without seats."""
    matrix = win_matrix(results)
    found = fit_meetings(matrix.players, meetings_of(matrix), anchor, seated=False, penalised=False)
    assert found is not None
    return found


def expected_score(elo_difference: float) -> float:
    """The expected score of a player that is this much stronger than its opponent."""
    return 1 / (1 + 10 ** (-elo_difference / 400))


def by_player(found: RatingFit[P]) -> dict[P, tuple[float, float, float]]:
    """Player -> (rating, low, high); ends that games do not give are 0."""
    return {
        row.player: (row.elo, row.low or 0.0, row.high or 0.0)
        for row in found.differences(found.anchor)
    }


@st.composite
def leagues(draw: st.DrawFn) -> list[Result]:
    """Up to eight players; a ring of wins in both directions keeps every rating finite."""
    count = draw(st.integers(2, 8))
    names = ["random", *(f"p{i}" for i in range(1, count))]
    ring = [
        PairResult(
            names[i],
            names[(i + 1) % count],
            1 + draw(st.integers(0, 9)),
            0,
            1 + draw(st.integers(0, 9)),
        )
        for i in range(count)
    ]
    more = draw(
        st.lists(
            st.tuples(
                st.permutations(range(count)),
                st.integers(0, 20),
                st.integers(0, 20),
                st.integers(0, 20),
            ),
            max_size=10,
        )
    )
    return ring + [
        PairResult(names[order[0]], names[order[1]], wins, draws, losses)
        for order, wins, draws, losses in more
    ]


@given(leagues())
@settings(max_examples=25, deadline=None)
def test_without_prior_and_draws_it_is_the_maximum_likelihood_that_choix_finds(
    league: list[Result],
) -> None:
    names = sorted({name for result in league for name in (result.a, result.b)})
    pairs = []
    for result in league:
        a, b = names.index(result.a), names.index(result.b)
        pairs += [(a, b)] * int(result.wins) + [(b, a)] * int(result.losses)
    oracle = choix.ilsr_pairwise(len(names), pairs, max_iter=10_000, tol=1e-12) * ELO_PER_NAT
    found = plain([PairResult(r.a, r.b, r.wins, 0, r.losses) for r in league], "random")
    for i, name in enumerate(names):
        expected = oracle[i] - oracle[names.index("random")]
        assert found.elo[found.players.index(name)] == pytest.approx(expected, abs=1e-6)


@given(leagues(), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_games_changes_nothing(league: list[Result], random: object) -> None:
    single = [
        part
        for r in league
        for part in (
            [PairResult(r.a, r.b, 1, 0, 0)] * int(r.wins)
            + [PairResult(r.a, r.b, 0, 1, 0)] * int(r.draws)
            + [PairResult(r.a, r.b, 0, 0, 1)] * int(r.losses)
        )
    ]
    shuffled = list(single)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    once, again = by_player(fit(league, "random")), by_player(fit(shuffled, "random"))
    assert once.keys() == again.keys()
    for name, values in once.items():
        assert again[name] == pytest.approx(values, abs=1e-6)


def test_permuting_a_long_log_moves_no_rating_by_a_millionth() -> None:
    """20 000 games of 30 players, one result each, in five orders."""
    rng = np.random.default_rng(9)
    names = ["random", *(f"p{i}" for i in range(1, 30))]
    log = []
    for _ in range(20_000):
        a, b = rng.choice(30, 2, replace=False)
        won = float(rng.random() < expected_score(20.0 * (a - b)))
        log.append(
            PairResult(names[a], names[b], won, 0, 1 - won)
            if rng.random() < 0.8
            else PairResult(names[a], names[b], 0, 1, 0)
        )
    once = by_player(fit(log, "random"))
    moved = 0.0
    for _ in range(5):
        shuffled = [log[i] for i in rng.permutation(len(log))]
        again = by_player(fit(shuffled, "random"))
        moved = max(
            moved,
            *(
                abs(value - other)
                for name in names
                for value, other in zip(once[name], again[name], strict=True)
            ),
        )
    print(f"largest move {moved:.1e} Elo")
    assert moved <= 1e-6


def test_two_players_have_a_closed_form() -> None:
    """300 to 100: 400 log10(3) Elo; variance of a log-odds 1 / (n p (1 - p)); ties tell neither."""
    found = plain([PairResult("a", "random", 300, 100, 100)], "random")
    assert found.elo == pytest.approx([400 * math.log10(3), 0])
    model = found.fitted.best.covariance[0, 0]
    assert model == pytest.approx(1 / (400 * 0.75 * 0.25))
    assert found.score(found.elo) == pytest.approx([350 / 500, 0.5])


def test_ten_straight_wins_stay_finite_and_are_jeffreys_for_two() -> None:
    row = fit([PairResult("a", "random", 10, 0, 0)], "random").difference("a", "random")
    assert row.elo == pytest.approx(400 * math.log10(10.5 / 0.5))
    assert row.low is not None
    assert 0 < row.low < row.elo
    assert row.high is None
    with pytest.raises(EngineError, match="did not converge"):
        plain([PairResult("a", "random", 10, 0, 0)], "random")


@pytest.mark.parametrize("seed", [*range(50), 143, 797, 1482, 2349, 3820, 4318, 4427, 5730])
def test_few_games_beside_very_many(seed: int) -> None:
    """The last eight seeds once did not converge.

    A step led too far for halving to bring it back, or rounding kept the steps from getting small.
    """
    rng = np.random.default_rng(seed)
    players, results = int(rng.integers(2, 12)), []
    for _ in range(rng.integers(1, 40)):
        a, b = rng.choice(players, 2, replace=False)
        wins, draws, losses = rng.integers(0, 3, 3) * rng.choice([0, 1, 100, 100_000], 3)
        results.append(PairResult(int(a), int(b), float(wins), float(draws), float(losses)))
    found = fit(results, 0) if any(0 in (r.a, r.b) for r in results) else fit(results, None)
    for row in found.differences(found.anchor):
        assert all(end is None or math.isfinite(end) for end in (row.elo, row.low, row.high))


def test_only_draws_are_even() -> None:
    assert by_player(fit([PairResult("a", "random", 0, 50, 0)], "random"))["a"][0] == pytest.approx(
        0, abs=1e-9
    )


def test_rock_paper_scissors_are_equal() -> None:
    cycle = [
        result
        for a, b in (("rock", "scissors"), ("scissors", "paper"), ("paper", "rock"))
        for result in (PairResult(a, b, 15, 0, 0), PairResult(b, a, 0, 0, 15))
    ]
    even = [PairResult(a, "random", 10, 0, 10) for a in ("rock", "paper", "scissors")]
    found = by_player(fit(cycle + even, "random"))
    assert [values[0] for values in found.values()] == pytest.approx([0, 0, 0, 0], abs=1e-6)


def test_players_no_chain_connects_have_no_rating() -> None:
    apart = [PairResult("a", "random", 5, 0, 1), PairResult("b", "c", 5, 0, 1)]
    assert fit(apart, "random").players == ("a", "random")
    assert fit(apart, "random").games == {"a": 6, "random": 6, "b": 6, "c": 6}
    for results in (apart[1:], []):
        players, games = seated_games({(r.a, r.b): [r.wins, 0, r.losses] for r in results})
        assert fit_meetings(players, games, "random") is None


def test_the_interval_holds_the_truth_in_95_of_100() -> None:
    """6 players at known strengths, 30 games a pair, 150 leagues make 750 intervals.

    A binomial of 95 % lies within 2.4 % of it. `bench.rating_coverage` measures finer.
    """
    rng = np.random.default_rng(11)
    truth = {"random": 0.0, **{f"p{i}": 90.0 * i for i in range(1, 6)}}
    inside = total = 0
    for _ in range(150):
        results = []
        for i, a in enumerate(truth):
            for b in list(truth)[i + 1 :]:
                for one, other in ((a, b), (b, a)):
                    wins = int(rng.binomial(15, expected_score(truth[one] - truth[other])))
                    results.append(PairResult(one, other, wins, 0, 15 - wins))
        for row in fit(results, "random").differences("random"):
            if row.player != "random":
                low, high = row.low or -math.inf, row.high or math.inf
                inside += low <= truth[row.player] <= high
                total += 1
    assert 0.926 <= inside / total <= 0.974, inside / total


def test_two_hundred_players_take_no_time() -> None:
    rng = np.random.default_rng(3)
    strength = {f"p{i}": 3.0 * i for i in range(1, 200)} | {"random": 0.0}
    names = list(strength)
    results = []
    for _ in range(4000):
        a, b = rng.choice(200, 2, replace=False)
        wins = int(rng.binomial(4, expected_score(strength[names[a]] - strength[names[b]])))
        results.append(PairResult(names[a], names[b], wins, 0, 4 - wins))
    start = time.perf_counter()
    rows = fit(results, "random").differences("random")
    assert time.perf_counter() - start < 2.0
    error = [abs(row.elo - strength[row.player]) for row in rows]
    assert float(np.mean(error)) < 80


@given(leagues())
@settings(max_examples=25, deadline=None)
def test_without_an_anchor_the_mean_is_0_and_the_distances_stay(league: list[Result]) -> None:
    centred, anchored = by_player(fit(league, None)), by_player(fit(league, "random"))
    assert math.fsum(elo for elo, _, _ in centred.values()) == pytest.approx(0, abs=1e-6)
    shift = centred["random"][0]
    for name, (elo, low, high) in centred.items():
        assert elo - shift == pytest.approx(anchored[name][0], abs=1e-6)
        assert low < elo < high


def test_without_an_anchor_errors_are_of_the_distance_to_the_mean() -> None:
    """The covariance is the pseudo-inverse of the information: that of ratings with a held sum."""
    results = [
        PairResult("a", "b", 30, 0, 10),
        PairResult("b", "c", 12, 0, 9),
        PairResult("c", "a", 3, 0, 40),
    ]
    found = plain(results, None)
    information = np.zeros((3, 3))
    for result in results:
        i, j = "abc".index(result.a), "abc".index(result.b)
        win = expected_score(float(found.elo[i] - found.elo[j]))
        weight = (result.wins + result.draws + result.losses) * win * (1 - win)
        information += weight * np.outer(np.eye(3)[i] - np.eye(3)[j], np.eye(3)[i] - np.eye(3)[j])
    rows = np.stack([found.fitted.contrast(i, None) for i in range(3)])
    model = rows @ found.fitted.best.covariance @ rows.T
    assert model == pytest.approx(np.linalg.pinv(information), rel=1e-9)


def test_without_an_anchor_the_largest_group_is_rated() -> None:
    groups = [
        PairResult("x", "y", 5, 0, 1),
        PairResult("a", "b", 5, 0, 1),
        PairResult("b", "c", 5, 0, 1),
    ]
    assert fit(groups, None).players == ("a", "b", "c")
    assert fit_meetings(*seated_games({}), None) is None
