"""The probabilities of past opponents follow the formulas, and so do the games seated by them."""

import math
from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.config.population import MatchmakingConfig, PastMode
from pbt.errors import EngineError
from pbt.matchmaking.past import WinRates, past_probabilities
from pbt.matchmaking.roster import MemberEntry, SnapshotEntry
from pbt.matchmaking.seats import past_candidates
from pbt.records import PlayerRef
from pbt.seeding import generator
from tests.pbt.matchmaking.one_game import past_rules, seat_training_game

MODES: tuple[PastMode, ...] = get_args(PastMode)
rates = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1))
members = st.lists(st.booleans(), min_size=1, max_size=5).map(
    lambda learning: [MemberEntry(f"m{n}", "p", n, learning=one) for n, one in enumerate(learning)]
)


def frozen(*ids: str, role: str = "p") -> list[SnapshotEntry]:
    return [SnapshotEntry(name, name.split(".")[0], role) for name in ids]


@given(
    st.lists(rates, min_size=1, max_size=30),
    st.sampled_from(MODES),
    st.floats(0.1, 300),
    st.floats(1e-6, 10),
)
def test_probabilities_sum_to_one_and_are_numbers(
    scores: list[float], mode: PastMode, power: float, sigma: float
) -> None:
    found = past_probabilities(scores, past_rules(0.2, 10, mode, pfsp_power=power, elo_sigma=sigma))
    assert len(found) == len(scores)
    assert all(0.0 <= p <= 1.0 for p in found)
    assert math.isclose(math.fsum(found), 1.0, rel_tol=1e-12)


@given(
    st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=12),
    st.sampled_from(MODES),
)
def test_probabilities_are_those_of_the_formulas(scores: list[float], mode: PastMode) -> None:
    """With AlphaStar's power and FTW's sigma."""
    weights = {
        "pfsp_hard": [(1 - p) ** 2 for p in scores],
        "pfsp_variance": [p * (1 - p) for p in scores],
        "elo_gaussian": [math.exp(-18 * (p - 0.5) ** 2) for p in scores],
    }.get(mode, [1.0] * len(scores))
    if not sum(weights):
        weights = [1.0] * len(scores)
    assert past_probabilities(scores, past_rules(0.2, 10, mode)) == pytest.approx(
        [weight / sum(weights) for weight in weights], abs=1e-12
    )


def test_certain_results_leave_somebody_to_play() -> None:
    assert past_probabilities([1.0, 1.0], past_rules(0.2, 10, "pfsp_hard")) == [0.5, 0.5]
    assert (
        past_probabilities([0.0, 1.0, 1.0, 0.0], past_rules(0.2, 10, "pfsp_variance")) == [0.25] * 4
    )
    assert past_probabilities([1.0, 0.0], past_rules(0.2, 10, "pfsp_hard")) == [0.0, 1.0]
    assert past_probabilities([0.999, 1.0], past_rules(0.2, 10, "pfsp_hard", pfsp_power=500.0)) == [
        1.0,
        0.0,
    ], "no weight is lost to rounding"
    assert past_probabilities([0.9, 1.0], past_rules(0.2, 10, "elo_gaussian", elo_sigma=1e-3)) == [
        1.0,
        0.0,
    ]


@pytest.mark.parametrize("wrong", [math.nan, -0.01, 1.01, math.inf])
def test_what_is_no_expected_score_is_refused(wrong: float) -> None:
    with pytest.raises(EngineError, match="expected a number from 0 to 1"):
        past_probabilities([0.5, wrong], past_rules(0.2, 10, "pfsp_hard"))


def test_the_defaults_are_eighty_to_twenty() -> None:
    assert MatchmakingConfig() == past_rules(0.2, 10, "uniform", pfsp_power=2.0, elo_sigma=1 / 6)


@given(
    members,
    st.lists(st.tuples(st.sampled_from(["m0", "m1"]), rates), max_size=8),
    st.integers(1, 4),
    st.sampled_from(MODES),
    st.floats(0, 1),
    st.integers(1, 5),
    st.integers(0, 10**6),
)
def test_every_game_has_a_learner_and_only_candidates(
    members: list[MemberEntry],
    past: list[tuple[str, float]],
    seats: int,
    mode: PastMode,
    share: float,
    window: int,
    seed: int,
) -> None:
    snapshots = [SnapshotEntry(f"{member}.{n}", member, "p") for n, (member, _) in enumerate(past)]
    win_rates = {
        entry.snapshot_id: {"m0": rate} for entry, (_, rate) in zip(snapshots, past, strict=True)
    }
    rules = past_rules(share, window, mode)
    learning = {entry.name for entry in members if entry.learning}
    if not learning:
        with pytest.raises(EngineError, match="no learning member"):
            seat_training_game(generator(seed), ["p"] * seats, members, snapshots, rules, win_rates)
        return
    players = seat_training_game(
        generator(seed), ["p"] * seats, members, snapshots, rules, win_rates
    )
    assert len(players) == seats
    assert any(player.kind == "member" and player.name in learning for player in players)
    candidates = past_candidates(snapshots, "p", rules)
    assert len(candidates) <= (2 if mode == "latest" else window)
    assert all(player.name in candidates for player in players if player.kind == "snapshot")
    assert players == seat_training_game(
        generator(seed), ["p"] * seats, members, snapshots, rules, win_rates
    )


def close(count: int, draws: int, probability: float) -> bool:
    """Within 4.5 standard deviations of a binomial."""
    return abs(count - draws * probability) <= 4.5 * math.sqrt(
        draws * probability * (1 - probability)
    )


@pytest.mark.parametrize("mode", MODES)
def test_seats_are_balanced_and_the_past_takes_its_share(mode: PastMode) -> None:
    """In every mode, a player is as likely to sit in the first seat as in the second.

    Each learner draws its opponents by its own rates.
    """
    live = [MemberEntry("m0", "p", 0), MemberEntry("m1", "p", 1)]
    snapshots, draws, rng = frozen("m0.1", "m0.2", "m1.1"), 6000, np.random.default_rng(3)
    win_rates: WinRates = {
        "m0.1": {"m0": 0.0, "m1": 1.0},
        "m0.2": {"m0": 0.5},
        "m1.1": {"m0": 1.0, "m1": 0.25},
    }
    rules = past_rules(0.2, 10, mode)
    games = Counter(
        seat_training_game(rng, ["p", "p"], live, snapshots, rules, win_rates) for _ in range(draws)
    )
    met = Counter[tuple[str, str]]()
    for players, count in games.items():
        names = tuple(player.name for player in players)
        for seat in (0, 1):
            if players[seat].kind == "snapshot":
                met[names[1 - seat], names[seat]] += count
                mirrored = games[players[::-1]]
                assert abs(count - mirrored) <= 4.5 * math.sqrt(count + mirrored), (
                    names,
                    count,
                    mirrored,
                )
    assert close(sum(met.values()), draws, 0.2)
    for member in ("m0", "m1"):
        candidates = past_candidates(snapshots, "p", rules)
        expected = past_probabilities(
            [win_rates[name].get(member, 0.5) for name in candidates], rules
        )
        games_of = sum(met[member, name] for name in candidates)
        assert all(
            close(met[member, name], games_of, p)
            for name, p in zip(candidates, expected, strict=True)
        ), (member, met)


def test_latest_is_the_newest_of_each_member_whatever_the_window() -> None:
    snapshots = [*frozen("m0.1", "m1.1", "m0.2", "m0.3"), *frozen("m2.9", role="other")]
    assert past_candidates(snapshots, "p", past_rules(0.2, 1, "latest")) == ["m0.3", "m1.1"]
    assert past_candidates(snapshots, "p", past_rules(0.2, 3)) == ["m1.1", "m0.2", "m0.3"]


def test_uniform_draws_are_those_of_earlier_versions_whatever_the_rates() -> None:
    live, snapshots = [MemberEntry("m0", "p", 0)], frozen("m0.1", "m0.2")
    plain = [
        seat_training_game(generator(seed), ["p", "p"], live, snapshots, past_rules(0.5, 10), {})
        for seed in range(40)
    ]
    told = [
        seat_training_game(
            generator(seed), ["p", "p"], live, snapshots, past_rules(0.5, 10), {"m0.1": {"m0": 0.0}}
        )
        for seed in range(40)
    ]
    assert plain == told and PlayerRef("snapshot", "m0.1") in {
        player for players in plain for player in players
    }
