"""Copies with a probability per run: levels against plain words, runs against chance."""

import itertools
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.config.population import PbtConfig
from pbt.errors import EngineError
from pbt.population.comparison import compare
from pbt.population.copy_gate import holm_levels, round_level
from pbt.population.pbt_decision import decide, rank, replay
from pbt.population.pbt_rules import PbtRules
from pbt.records import Against, MemberScore, RoundRecord
from tests.pbt.population.rounds import own_values, through_json

RUN = PbtRules.from_config(PbtConfig(mutation_probability=0.0), "win")


def won(member: str, share: float, games: int = 2000) -> MemberScore:
    """games: against one opponent, "o"."""
    wins = round(share * games)
    return MemberScore(
        member, games, wins / games, 0, games - 1, None, (Against("o", games, float(wins)),)
    )


def four(*shares: float, games: int = 2000) -> list[MemberScore]:
    return [won(f"m{index}", share, games) for index, share in enumerate(shares)]


@given(st.lists(st.sampled_from([0.0, 1e-5, 1e-3, 0.004, 0.02, 0.5, 1.0]), max_size=7))
def test_holm_by_trying_every_set_of_comparisons(chances: list[float]) -> None:
    """Holm's procedure is the closed test by Bonferroni (Marcus, Peritz & Gabriel 1976).

    A comparison passes where every set that holds it has one of p <= level / size.
    """
    level, places = 0.01, range(len(chances))
    sets = [chosen for size in places for chosen in itertools.combinations(places, size + 1)]
    closed = [
        all(min(chances[n] for n in each) <= level / len(each) for each in sets if place in each)
        for place in places
    ]
    levels = holm_levels(chances, level)
    assert [chance <= own for chance, own in zip(chances, levels, strict=True)] == closed


def test_the_levels_of_a_run_of_any_length_sum_to_its_probability() -> None:
    spent = math.fsum(4 * round_level(0.01, 4, number) for number in range(1, 20_000))
    assert 0.0099 < spent < 0.01
    assert round_level(0.01, 4, 1) == pytest.approx(0.00125)


def test_a_run_of_known_length_spends_evenly_and_keeps_a_tenth_for_later() -> None:
    levels = [4 * round_level(0.01, 4, number, copy_rounds=5) for number in range(1, 20_000)]
    assert levels[:5] == pytest.approx([0.0018] * 5)
    assert 0.0099 < math.fsum(levels) < 0.01
    assert levels[5:] == sorted(levels[5:], reverse=True) and levels[5] < levels[4]


def test_copy_rounds_lets_a_lead_of_the_last_planned_round_copy() -> None:
    scores, planned = four(0.60, 0.5, 0.49, 0.41), replace(RUN, copy_rounds=5)
    copied = [
        decide("m3", number, 10, scores, own_values(4), planned, 5).copy_from is not None
        for number in (1, 5, 6, 50)
    ]
    assert copied == [True, True, False, False]
    assert PbtRules.from_config(PbtConfig(copy_rounds=5), "win").copy_rounds == 5


def test_a_member_copies_one_that_is_surely_ahead_and_says_why() -> None:
    scores = four(0.62, 0.45, 0.44, 0.39)
    decision = decide("m3", 1, 10, scores, own_values(4), RUN, 5)
    assert decision.copy_from == "m0"
    assert decision.ahead == pytest.approx(0.23)
    p = compare(scores[0], scores[3], "win", RUN.equals_sd).p
    # The smallest of three p values has a third of the level of the first round of four members.
    assert (
        f"ahead by 0.23 on 1 common opponent, 4.4 standard errors, p = {p:.3g} <= 0.000416667; "
        in decision.verdict
    )


def test_only_those_surely_ahead_are_drawn() -> None:
    """m0 is surely ahead and m1, also of the top, is not; before, half of the draws met m1."""
    scores = four(0.62, 0.45, 0.44, 0.39)
    drawn = {decide("m3", 1, 10, scores, own_values(4), RUN, seed).copy_from for seed in range(30)}
    assert drawn == {"m0"}
    both = four(0.62, 0.61, 0.44, 0.39)
    drawn = {decide("m3", 1, 10, both, own_values(4), RUN, seed).copy_from for seed in range(30)}
    assert drawn == {"m0", "m1"}


def test_without_a_copy_the_one_furthest_ahead_is_named() -> None:
    scores = four(0.53, 0.52, 0.5, 0.46)
    verdict = decide("m3", 2, 10, scores, own_values(4), RUN, 5).verdict
    assert "does not copy m0 (win rate 0.53), ahead by 0.07" in verdict
    assert "which may be chance: p = " in verdict and " > 0.000138889" in verdict


def test_later_rounds_ask_for_more() -> None:
    scores = four(0.61, 0.5, 0.49, 0.40)
    copied = [
        decide("m3", number, 10, scores, own_values(4), RUN, 5).copy_from is not None
        for number in (1, 2, 5, 50)
    ]
    assert copied == [True, True, False, False]


def test_copy_ratio_is_a_share_of_the_winners_own_objective() -> None:
    scores, rules = four(0.6, 0.5, 0.45, 0.32), replace(RUN, copy_ratio=0.5)
    decision = decide("m3", 1, 10, scores, own_values(4), rules, 5)
    assert decision.copy_from is None
    assert "< 0.3, which is copy_ratio 0.5 of its own" in decision.verdict
    less = four(0.6, 0.5, 0.45, 0.29)
    assert decide("m3", 1, 10, less, own_values(4), rules, 5).copy_from == "m0"
    papers = PbtRules.from_config(PbtConfig(copy_gap=0.0, copy_ratio=0.5), "win")
    assert papers.copy_significance == 1.0
    assert decide("m3", 1, 10, less, own_values(4), papers, 7).copy_from in ("m0", None)


@pytest.mark.parametrize("equals_sd", [0.0, 0.03])
def test_runs_of_equals_copy_as_rarely_as_promised(equals_sd: float) -> None:
    """300 runs of 12 rounds: members whose skills are as far apart as those of equals.

    At a probability of 0.2 some runs must copy, or the test would find nothing.
    """
    rng, copying = random.Random(3), 0
    rules = replace(RUN, copy_significance=0.2, equals_sd=equals_sd)
    for _ in range(300):
        copies = 0
        for number in range(1, 13):
            skills = [0.5 + rng.gauss(0.0, equals_sd / math.sqrt(2)) for _ in range(4)]
            shares = [rng.gauss(skill, math.sqrt(0.25 / 400)) for skill in skills]
            scores = four(*shares, games=400)
            last = list(rank(scores, rules))[-1]
            copies += (
                decide(last, number, 10, scores, own_values(4), rules, 5).copy_from is not None
            )
        copying += copies > 0
    assert 3 <= copying <= 75, "0.2 of 300 is 60, plus two standard errors"


@given(
    st.lists(st.integers(0, 100).map(lambda n: n / 100), min_size=3, max_size=6),
    st.integers(1, 40),
    st.integers(0, 9),
)
def test_rounds_replay(shares: list[float], number: int, seed: int) -> None:
    scores, values = four(*shares), own_values(len(shares))
    decision = decide("m0", number, 10, scores, values, RUN, seed)
    directive = decision.directive("m0", number, "f" * 64 if decision.copy_from else None)
    record = RoundRecord(
        "m0",
        number,
        10,
        tuple(scores),
        values,
        RUN.to_mapping(),
        seed,
        decision.verdict,
        directive,
    )
    assert replay(through_json(record)) == []
    if decision.copy_from:
        assert replay(replace(record, rules={**record.rules, "equals_sd": 0.5})) != []
        assert replay(replace(record, round=number + 1)) != []


def test_a_round_before_the_first_is_refused() -> None:
    with pytest.raises(EngineError, match="counted from 1"):
        decide("m3", 0, 10, four(0.6, 0.5, 0.5, 0.4), own_values(4), RUN, 5)
