"""The rules of PBT: what stored ones say, and what is refused."""

import json
import math
from dataclasses import replace

import pytest

from pbt.config.population import PbtConfig
from pbt.errors import EngineError
from pbt.objective import as_objective
from pbt.population.pbt_decision import decide
from pbt.population.pbt_rules import EQUALS_SD, PbtRules
from pbt.records import Against, MemberScore
from tests.pbt.population.rounds import RULES, START, make_scores, own_values


def test_rules_of_the_three_objectives() -> None:
    assert (RULES.copy_gap, RULES.copy_significance, RULES.equals_sd) == (0.35, 1.0, 0.0)
    for objective, equals_sd in (("win", EQUALS_SD), ("margin", 0.0), ("return", 0.0)):
        rules = PbtRules.from_config(PbtConfig(), as_objective(objective))
        assert (rules.copy_gap, rules.copy_significance, rules.equals_sd) == (0.0, 0.01, equals_sd)
        assert rules.copy_significance_per == "run"
        assert rules.opponents == "common"
        assert rules.detail == ("against" if objective == "win" else "against_squares")
    papers = PbtRules.from_config(PbtConfig(copy_gap=0.35), "win")
    assert (papers.copy_significance, papers.copy_significance_per) == (1.0, "comparison")
    both = PbtRules.from_config(PbtConfig(copy_gap=0.1, copy_significance=0.05), "win")
    assert (both.copy_gap, both.copy_significance_per) == (0.1, "run")
    assert PbtRules.from_config(PbtConfig(copy_gap=0.1), "win").copy_gap == 0.1
    assert PbtRules.from_mapping(json.loads(json.dumps(RULES.to_mapping()))) == RULES
    assert PbtRules.from_config(PbtConfig(), "win").detail == "against"


def test_games_of_one_seat_have_no_opponents() -> None:
    alone = PbtRules.from_config(PbtConfig(), "return", alone=True)
    assert (alone.opponents, alone.detail) == ("all", "squares")
    open_to_chance = PbtConfig(copy_significance=1.0)
    assert PbtRules.from_config(open_to_chance, "return", alone=True).detail == "plain"


def test_rules_of_earlier_versions_say_wins() -> None:
    assert PbtRules.from_mapping({**RULES.to_mapping(), "objective": "wins"}) == RULES


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_games": 50.5}, "rules.min_games"),
        ({"top_share": "0.3"}, "rules.top_share"),
        ({"copy_gap": math.nan}, "rules.copy_gap"),
        ({"objective": "frags"}, "objective = 'frags'"),
        ({"opponents": "some"}, "rules.opponents = 'some'"),
        ({"copy_significance_per": "day"}, "rules.copy_significance_per = 'day'"),
        ({"copy_significance": None}, "rules.copy_significance"),
        ({"extra": 1}, "unknown \\['extra'\\]"),
    ],
)
def test_rules_that_cannot_be_read(change: dict[str, object], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        PbtRules.from_mapping({**RULES.to_mapping(), **change})


@pytest.mark.parametrize(
    ("scores", "hyperparams", "message"),
    [
        (make_scores([0.5])[:0], own_values(1), "m0 among them"),
        (make_scores([0.5]) * 2, own_values(1), "each member once"),
        (make_scores([0.5, math.nan]), own_values(2), "score of m1 = nan"),
        (make_scores([0.5, 1.5]), own_values(2), "score of m1 = 1.5.* expected wins"),
        (
            [replace(make_scores([0.5])[0], against=(Against("o", 0, 0.0),))],
            own_values(1),
            "0.0 of 0 games",
        ),
        (
            [replace(make_scores([0.5])[0], squares=-1.0)],
            own_values(1),
            "squares -1.0",
        ),
        (make_scores([0.5, 0.5]), own_values(1), "hyperparams of m1 are missing"),
        (make_scores([0.5]), {"m0": {**START, "gamma": 0.9}}, "shaping.TERM only"),
    ],
)
def test_inputs_that_contradict_each_other(
    scores: list[MemberScore], hyperparams: dict[str, dict[str, float]], message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        decide("m0", 1, 10, scores, hyperparams, RULES, 5)
