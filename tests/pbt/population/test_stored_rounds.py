"""Stored PBT rounds are decided again from JSON, and what was altered in them is noticed.

Common opponents and the significance gate are tested here too.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.errors import EngineError
from pbt.population.comparison import compare
from pbt.population.pbt_decision import Decision, decide, rank, replay
from pbt.population.pbt_rules import PbtRules
from pbt.records import Against, MemberScore, RoundRecord
from tests.pbt.population.rounds import (
    COMMON,
    RULES,
    START,
    from_json,
    make_round,
    own_values,
    through_json,
)


@given(
    objectives=st.lists(st.floats(0, 1), min_size=1, max_size=8),
    round=st.integers(0, 10**6),
    probability=st.sampled_from([0.15, 1.0]),
    seed=st.integers(0, 7),
)
def test_a_stored_round_replays_bit_equal(
    objectives: list[float], round: int, probability: float, seed: int
) -> None:
    record = make_round(
        f"m{seed % len(objectives)}",
        round,
        objectives,
        replace(RULES, mutation_probability=probability),
    )
    back = through_json(record)
    assert replay(back) == []
    assert (
        np.array(list(back.directive.hyperparams.values())).tobytes()
        == np.array(list(record.directive.hyperparams.values())).tobytes()
    )


COPIED = make_round("m3", 2, [0.9, 0.8, 0.3, 0.1], replace(RULES, mutation_probability=0.5))


def with_score(**change: Any) -> Callable[[RoundRecord], RoundRecord]:
    return lambda record: replace(
        record, scores=(*record.scores[:3], replace(record.scores[3], **change))
    )


def with_rule(**change: Any) -> Callable[[RoundRecord], RoundRecord]:
    return lambda record: replace(record, rules={**record.rules, **change})


def with_directive(**change: Any) -> Callable[[RoundRecord], RoundRecord]:
    return lambda record: replace(record, directive=replace(record.directive, **change))


@pytest.mark.parametrize(
    "alter",
    [
        with_score(objective=0.2),
        with_score(games=101),
        with_score(games=10),
        lambda record: replace(record, scores=record.scores[2:]),
        lambda record: replace(
            record,
            scores=tuple(replace(score, games=1) for score in record.scores[:2])
            + record.scores[2:],
        ),
        lambda record: replace(
            record,
            scores=tuple(
                replace(score, objective=score.objective + 0.01) for score in record.scores
            ),
        ),
        lambda record: replace(
            record,
            hyperparams={
                name: {**values, "learning_rate": 0.5}
                for name, values in record.hyperparams.items()
            },
        ),
        lambda record: replace(record, hyperparams={"m3": record.hyperparams["m3"]}),
        lambda record: replace(record, seed=8),
        lambda record: replace(record, frames=11),
        lambda record: replace(record, round=3),
        lambda record: replace(record, member="m2"),
        lambda record: replace(record, verdict=record.verdict + "."),
        with_rule(copy_gap=0.9),
        with_rule(min_games=101),
        with_rule(top_share=0.0),
        with_rule(mutation_probability=0.0),
        with_rule(mutation_factor=1.3),
        with_rule(
            learning_rate_low=0.5,
            learning_rate_high=0.6,
            entropy_coef_low=0.5,
            shaping_low=5.0,
            one_minus_adam_beta1_low=0.4,
        ),
        with_rule(objective="return"),
        with_rule(opponents="most"),
        with_rule(min_games="50"),
        with_directive(copy_from="m2"),
        with_directive(copy_snapshot=None),
        with_directive(mutated=("gamma",)),
        with_directive(hyperparams={**COPIED.directive.hyperparams, "entropy_coef": 0.5}),
        with_directive(hyperparams={}),
        with_directive(member="m2"),
        with_directive(round=9),
    ],
)
def test_replay_notices_what_was_altered(alter: Callable[[RoundRecord], RoundRecord]) -> None:
    assert COPIED.directive.copy_from is not None
    assert COPIED.directive.mutated
    assert replay(COPIED) == []
    assert replay(alter(COPIED)) != []


def test_a_copy_needs_a_snapshot() -> None:
    with pytest.raises(EngineError, match="expected both or neither"):
        Decision("m1", START, (), "").directive("m0", 1, None)


# --- common opponents and the gate ----------------------------------------------------------------


def met(member: str, **tables: tuple[int, int]) -> MemberScore:
    """tables: opponent -> (games, wins)."""
    games, wins = (sum(column) for column in zip(*tables.values(), strict=True))
    against = tuple(
        Against(opponent, n, float(won)) for opponent, (n, won) in sorted(tables.items())
    )
    return MemberScore(member, games, wins / games, 0, 999, None, against)


# m0 meets the weak and m3 the strong; against the same opponents m3 is the best and m0 the worst.
UNFAIR = [
    met("m0", weak=(190, 155), strong=(60, 5)),
    met("m1", weak=(100, 90), strong=(100, 40)),
    met("m2", weak=(100, 85), strong=(100, 30)),
    met("m3", weak=(60, 57), strong=(190, 100)),
]


def test_common_opponents_turn_a_ranking_round() -> None:
    assert list(rank(UNFAIR, RULES)) == ["m1", "m0", "m3", "m2"]
    assert list(rank(UNFAIR, COMMON)) == ["m3", "m1", "m2", "m0"]
    rules = replace(COMMON, copy_gap=0.1, mutation_probability=0.0)
    verdict = decide("m0", 1, 10, UNFAIR, own_values(4), rules, 5).verdict
    assert verdict.startswith(
        "rank 4 of 4 at 10 frames, win rate 0.64 over 250 games, -0.186018 on common"
    ), verdict
    assert (
        "on common opponents: copies m" in verdict
        and "on 2 common opponents >= 0.1; nothing mutates" in verdict
    )


def test_without_common_opponents_all_games_count() -> None:
    scores = [met(f"m{n}", **{f"only{n}": (100, 10 * n)}) for n in range(4)]
    for member in ("m0", "m3"):
        fair, plain = (
            decide(member, 1, 10, scores, own_values(4), rules, 5) for rules in (COMMON, RULES)
        )
        assert (fair.copy_from, fair.hyperparams) == (plain.copy_from, plain.hyperparams)


@given(
    objectives=st.lists(st.integers(0, 100), min_size=3, max_size=8),
    seed=st.integers(0, 99),
    level=st.sampled_from([0.01, 0.05, 0.49]),
)
def test_the_gate_only_ever_forbids_copies(objectives: list[int], seed: int, level: float) -> None:
    scores, values = (
        [met(f"m{n}", o=(100, won)) for n, won in enumerate(objectives)],
        own_values(len(objectives)),
    )
    open_rules = replace(COMMON, copy_gap=0.0)
    for member in values:
        free = decide(member, 1, 10, scores, values, open_rules, seed)
        gated = decide(
            member, 1, 10, scores, values, replace(open_rules, copy_significance=level), seed
        )
        if free.copy_from is None:
            assert gated == free
            continue
        by_name = {score.member: score for score in scores}
        p = compare(by_name[free.copy_from], by_name[member], "win").p
        assert (gated.copy_from is not None) == (p <= level)
        assert f"p = {p:.3g}" in gated.verdict


def test_few_games_may_be_chance() -> None:
    rules = replace(
        COMMON, copy_gap=0.2, copy_significance=0.05, min_games=5, mutation_probability=0.0
    )
    few = [met(f"m{n}", o=(6, won)) for n, won in enumerate([4, 4, 3, 2])]
    many = [met(f"m{n}", o=(600, 100 * won)) for n, won in enumerate([4, 4, 3, 2])]
    assert (
        "on 1 common opponent >= 0.2, which may be chance: p = 0.1"
        in decide("m3", 1, 10, few, own_values(4), rules, 5).verdict
    )
    assert decide("m3", 1, 10, many, own_values(4), rules, 5).copy_from in ("m0", "m1")


@given(st.integers(0, 100), st.integers(0, 3))
def test_rounds_on_common_opponents_replay_and_notice_what_was_altered(
    seed: int, index: int
) -> None:
    rules, values = replace(COMMON, copy_gap=0.1, copy_significance=0.2), own_values(4)
    decision = decide(f"m{index}", 3, 10, UNFAIR, values, rules, seed)
    directive = decision.directive(f"m{index}", 3, "f" * 64 if decision.copy_from else None)
    record = RoundRecord(
        f"m{index}",
        3,
        10,
        tuple(UNFAIR),
        values,
        rules.to_mapping(),
        seed,
        decision.verdict,
        directive,
    )
    assert replay(through_json(record)) == []
    part = record.scores[index].against[0]
    altered = replace(
        record.scores[index],
        against=(replace(part, points=part.points - 5), *record.scores[index].against[1:]),
    )
    scores = tuple(altered if score.member == altered.member else score for score in record.scores)
    assert replay(replace(record, scores=scores)) != []


# A round as it was stored before members were compared on common opponents.
EARLIER_ROUND = """{"member": "m3",
"round": 2,
"frames": 10,
"scores": [{"member": "m0",
"games": 100,
"objective": 0.9,
"first_game": 0,
"last_game": 1000}, {"member": "m1",
"games": 101,
"objective": 0.8,
"first_game": 1,
"last_game": 1001}, {"member": "m2",
"games": 102,
"objective": 0.3,
"first_game": 2,
"last_game": 1002}, {"member": "m3",
"games": 103,
"objective": 0.1,
"first_game": 3,
"last_game": 1003}],
"hyperparams": {"m0": {"learning_rate": 0.001,
"entropy_coef": 0.01,
"adam_beta1": 0.9,
"shaping.win": 1.0},
"m1": {"learning_rate": 0.0011428571428571427,
"entropy_coef": 0.01,
"adam_beta1": 0.9,
"shaping.win": 1.0},
"m2": {"learning_rate": 0.0012857142857142856,
"entropy_coef": 0.01,
"adam_beta1": 0.9,
"shaping.win": 1.0},
"m3": {"learning_rate": 0.0014285714285714286,
"entropy_coef": 0.01,
"adam_beta1": 0.9,
"shaping.win": 1.0}},
"rules": {"objective": "wins",
"min_games": 50,
"top_share": 0.3,
"copy_gap": 0.35,
"mutation_probability": 0.5,
"mutation_factor": 1.2,
"learning_rate_low": 1e-06,
"learning_rate_high": 0.1,
"entropy_coef_low": 1e-06,
"entropy_coef_high": 1.0,
"one_minus_adam_beta1_low": 0.001,
"one_minus_adam_beta1_high": 0.5,
"shaping_low": 0.0001,
"shaping_high": 10000.0},
"seed": 7,
"verdict": "rank 4 of 4 at 10 frames, win rate 0.1 over 103 games: copies m0 (win rate 0.9), \
ahead by 0.8 >= 0.35; mutates adam_beta1 0.9 -> 0.88, shaping.win 1 -> 0.833333",
"directive": {"member": "m3",
"round": 2,
"copy_from": "m0",
"copy_snapshot": "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
"hyperparams": {"learning_rate": 0.001,
"entropy_coef": 0.01,
"adam_beta1": 0.88,
"shaping.win": 0.8333333333333334},
"mutated": ["adam_beta1",
"shaping.win"]}}"""


def test_rounds_of_earlier_versions_replay() -> None:
    record = from_json(EARLIER_ROUND)
    assert record.directive.copy_from == "m0" and "opponents" not in record.rules
    assert replay(record) == []
    assert PbtRules.from_mapping(record.rules) == replace(RULES, mutation_probability=0.5)
    assert replay(replace(record, rules={**record.rules, "opponents": "common"})) != []
