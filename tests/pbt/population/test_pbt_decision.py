"""PBT decisions: against a slow obvious reference, and as properties."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.population.pbt_decision import decide, next_due, rank, top_count
from pbt.records import MemberScore
from pbt.seeding import generator
from tests.pbt.population.rounds import NAMES, RULES, START, make_scores, names, own_values


def reference(
    member: str,
    round: int,
    scores: list[MemberScore],
    hyperparams: dict[str, dict[str, float]],
    seed: int,
) -> tuple[str | None, dict[str, float]]:
    """Section A.3.1 of Petrenko et al. 2020 in the plainest words, for the default rules.

    It shares nothing with the code under test.
    """
    eligible = [score for score in scores if score.games >= 50]
    ordered = [score.member for score in sorted(eligible, key=lambda score: score.member)]
    objective = {score.member: score.objective for score in scores}
    ordered.sort(key=lambda name: objective[name], reverse=True)
    n = len(ordered)
    k = {1: 0, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 3}.get(n, 0)
    if member not in ordered or member in ordered[:k]:
        return None, hyperparams[member]
    stream = generator(seed, "pbt", member, round)
    first = stream.random()
    donor = None
    if n >= 3 and member in ordered[n - k :]:
        candidate = ordered[math.floor(first * k)]
        if objective[candidate] - objective[member] >= 0.35:
            donor = candidate
    values = dict(hyperparams[donor] if donor else hyperparams[member])
    for name in [
        "learning_rate",
        "entropy_coef",
        "adam_beta1",
        "shaping.damage",
        "shaping.death",
        "shaping.win",
    ]:
        chance, direction = stream.random(), stream.random()
        if chance >= 0.15 or values[name] == 0:
            continue
        if name == "adam_beta1":
            distance = (1.0 - values[name]) * 1.2 if direction < 0.5 else (1.0 - values[name]) / 1.2
            values[name] = 1.0 - min(max(distance, 1e-3), 0.5)
            continue
        low, high = {"learning_rate": (1e-6, 1e-1), "entropy_coef": (1e-6, 1.0)}.get(
            name, (1e-4, 1e4)
        )
        size = abs(values[name]) * 1.2 if direction < 0.5 else abs(values[name]) / 1.2
        size = min(max(size, low), high)
        values[name] = -size if values[name] < 0 else size
    return donor, values


@pytest.mark.parametrize("count", range(1, 5))
def test_every_small_case_equals_the_reference(count: int) -> None:
    hyperparams = own_values(count)
    for objectives in itertools.product([0.1, 0.4, 0.75], repeat=count):
        for enough in itertools.product([True, False], repeat=count):
            scores = [
                replace(score, games=50 if ok else 49)
                for score, ok in zip(make_scores(list(objectives)), enough, strict=True)
            ]
            for member in names(count):
                decision = decide(member, 3, 10, scores, hyperparams, RULES, 11)
                assert (decision.copy_from, decision.hyperparams) == reference(
                    member, 3, scores, hyperparams, 11
                )


@given(
    objectives=st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=10),
    round=st.integers(0, 1000),
    seed=st.integers(0, 2**31 - 1),
)
def test_larger_populations_equal_the_reference(
    objectives: list[float], round: int, seed: int
) -> None:
    scores, hyperparams = make_scores(objectives), own_values(len(objectives))
    for member in hyperparams:
        decision = decide(member, round, 10, scores, hyperparams, RULES, seed)
        assert (decision.copy_from, decision.hyperparams) == reference(
            member, round, scores, hyperparams, seed
        )


def test_top_count_table() -> None:
    assert [top_count(n, 0.3) for n in range(1, 11)] == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    assert [top_count(n, 0.0) for n in range(1, 11)] == [0] * 10
    assert [top_count(n, 1.0) for n in range(1, 11)] == [n // 2 for n in range(1, 11)]
    assert top_count(100, 0.07) == 7


def test_next_due() -> None:
    assert [next_due(frames, 5, 20) for frames in (0, 19, 20, 24, 25, 31)] == [
        20,
        20,
        25,
        25,
        30,
        35,
    ]
    assert [next_due(frames, 5) for frames in (0, 4, 5, 10)] == [5, 5, 10, 15]
    assert [next_due(frames, 5, 6) for frames in (0, 9, 10, 15)] == [10, 10, 15, 20]


populations = st.lists(
    st.tuples(
        st.floats(-10, 10),
        st.integers(0, 100),
        st.sampled_from([0.0, 1e-6, 1e-4, 3e-2, 1e-1]),
        st.sampled_from([0.5, 0.9, 0.999]),
    ),
    min_size=1,
    max_size=10,
)


@given(
    population=populations,
    seed=st.integers(0, 2**31 - 1),
    top_share=st.floats(0, 1),
    gap=st.floats(0, 5),
    probability=st.floats(0, 1),
    order=st.randoms(use_true_random=False),
)
def test_properties(
    population: list[tuple[float, int, float, float]],
    seed: int,
    top_share: float,
    gap: float,
    probability: float,
    order: Any,
) -> None:
    rules = replace(
        RULES,
        objective="return",
        top_share=top_share,
        copy_gap=gap,
        mutation_probability=probability,
    )
    scores = [
        MemberScore(f"m{index}", games, objective, 0, 9)
        for index, (objective, games, _, _) in enumerate(population)
    ]
    hyperparams = {
        f"m{index}": {**START, "learning_rate": rate, "adam_beta1": beta1}
        for index, (_, _, rate, beta1) in enumerate(population)
    }
    ranked = list(rank(scores, rules))
    k = top_count(len(ranked), top_share)
    objective = {score.member: score.objective for score in scores}
    shuffled = order.sample(scores, len(scores))
    shuffled_values = {
        score.member: dict(order.sample(list(hyperparams[score.member].items()), len(START)))
        for score in shuffled
    }
    for member in hyperparams:
        decision = decide(member, 1, 10, scores, hyperparams, rules, seed)
        assert decide(member, 1, 10, shuffled, shuffled_values, rules, seed) == decision
        if member not in ranked or member in ranked[:k]:
            assert (decision.copy_from, decision.mutated, decision.hyperparams) == (
                None,
                (),
                hyperparams[member],
            )
            continue
        if decision.copy_from is not None:
            assert decision.copy_from in ranked[:k]
            assert member in ranked[-k:]
            assert len(ranked) >= 3
            assert objective[decision.copy_from] - objective[member] >= gap
        before = hyperparams[decision.copy_from or member]
        assert decision.mutated == tuple(
            name for name in NAMES if decision.hyperparams[name] != before[name]
        )
        for name in NAMES:
            check_value(name, before[name], decision.hyperparams[name])


def check_value(name: str, before: float, after: float) -> None:
    """At most one factor away, zero stays zero, signs stay, bounds hold."""
    low, high = {
        "learning_rate": (1e-6, 1e-1),
        "entropy_coef": (1e-6, 1.0),
        "adam_beta1": (1e-3, 0.5),
    }.get(name, (1e-4, 1e4))
    if before == 0:
        assert after == 0
        return
    assert math.copysign(1, after) == math.copysign(1, before)
    old, new = (1 - before, 1 - after) if name == "adam_beta1" else (abs(before), abs(after))
    assert low * (1 - 1e-12) <= new <= high * (1 + 1e-12)
    assert 1 / 1.2 - 1e-12 <= new / old <= 1.2 + 1e-12


def test_mutation_frequency_and_direction() -> None:
    """Binomial limits of 4.5 standard deviations over 4000 fixed streams per value."""
    rounds = 4000
    counts = dict.fromkeys(NAMES, 0)
    grown = dict.fromkeys(NAMES, 0)
    for round in range(rounds):
        decision = decide("m0", round, 10, make_scores([0.5]), {"m0": START}, RULES, 5)
        for name in decision.mutated:
            counts[name] += 1
            grown[name] += abs(decision.hyperparams[name]) > abs(START[name])
    for name in NAMES:
        assert abs(counts[name] - 0.15 * rounds) < 4.5 * math.sqrt(rounds * 0.15 * 0.85)
        assert abs(grown[name] - counts[name] / 2) < 4.5 * math.sqrt(counts[name] / 4)


def test_donors_are_drawn_evenly_from_the_top() -> None:
    scores, hyperparams = make_scores([0.9, 0.91, 0.92, 0.5, 0.5, 0.1, 0.1, 0.1]), own_values(8)
    donors = [
        decide("m7", round, 10, scores, hyperparams, RULES, 5).copy_from for round in range(3000)
    ]
    for donor in ("m0", "m1", "m2"):
        assert abs(donors.count(donor) - 1000) < 4.5 * math.sqrt(3000 * 2 / 9)


def test_a_learning_rate_of_zero_is_copied_over_but_never_mutated() -> None:
    hyperparams = {**own_values(4), "m3": {**START, "learning_rate": 0.0}}
    for round in range(200):
        kept = decide("m3", round, 10, make_scores([0.5, 0.5, 0.5, 0.4]), hyperparams, RULES, 5)
        assert kept.hyperparams["learning_rate"] == 0.0
        copied = decide("m3", round, 10, make_scores([0.6, 0.6, 0.6, 0.1]), hyperparams, RULES, 5)
        assert copied.copy_from in ("m0", "m1")
        assert copied.hyperparams["learning_rate"] > 0


def test_all_but_one_value_do_not_depend_on_whether_the_others_can_mutate() -> None:
    rules = replace(RULES, mutation_probability=0.5)
    for round in range(50):
        every = decide("m0", round, 10, make_scores([0.5]), {"m0": START}, rules, 5).hyperparams
        still = decide(
            "m0", round, 10, make_scores([0.5]), {"m0": {**START, "learning_rate": 0.0}}, rules, 5
        ).hyperparams
        assert {**every, "learning_rate": 0.0} == still


def test_verdicts_are_sentences_with_the_numbers() -> None:
    scores, hyperparams = make_scores([0.9, 0.8, 0.3, 0.1]), own_values(4)
    never = replace(RULES, mutation_probability=0.0)

    def verdict(member: str, scores: list[MemberScore]) -> str:
        return decide(member, 1, 5_000_000, scores, hyperparams, never, 5).verdict

    assert (
        verdict("m0", [replace(scores[0], games=12), *scores[1:]])
        == "not ranked: 12 games < 50 at 5000000 frames"
    )
    assert verdict("m1", scores) == (
        "rank 2 of 4 at 5000000 frames, win rate 0.8 over 100 games: among the top 2, kept as it is"
    )
    assert verdict("m3", scores).endswith(
        "over 100 games: copies m1 (win rate 0.8), ahead by 0.7 >= 0.35; nothing mutates"
    )
    assert "does not copy m" in verdict("m3", make_scores([0.2, 0.2, 0.2, 0.1]))
    assert "too few ranked to copy" in verdict(
        "m3", [replace(score, games=49) for score in scores[:2]] + scores[2:]
    )
    changed = decide(
        "m3", 1, 10, scores, hyperparams, replace(RULES, mutation_probability=1.0), 5
    ).verdict
    assert "; mutates learning_rate 0.00" in changed
