"""Reward terms of Doom games: what they are read from, and how PBT sees them."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from pbt.config.load import config_from_table
from pbt.envs.doom.game import make as make_scenario
from pbt.envs.doom.match import make
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.match_rewards import MatchRewards
from pbt.envs.doom.terms import RewardTerm, read_terms
from pbt.errors import EnvOptionsError
from pbt.hyperparams import initial_hyperparams
from pbt.population.mutation import mutate
from pbt.population.pbt_rules import PbtRules

HEALTH = {"variable": "health", "gain": 0.005, "loss": -0.003}


def read(**given: Any) -> tuple[RewardTerm, ...]:
    terms, problems = read_terms(given)
    assert problems == []
    return terms


def rewards(terms: tuple[RewardTerm, ...], before: float, now: float) -> list[float]:
    """Of a player alone with a bot whose health changes."""
    counted = MatchRewards(MatchOptions(players=1, bots=1, terms=terms))
    rows = [[0.0] * len(counted.names) for _ in range(2)]
    for row, health in zip(rows, (before, now), strict=True):
        row[counted.column["HEALTH"]] = health
    (own,) = counted.rewards([rows[1]], [rows[0]])
    return own[1:]


# --- gain and loss apart --------------------------------------------------------------------------


def test_a_term_stays_one_unless_it_is_asked_to_be_two() -> None:
    assert read(health=HEALTH) == (RewardTerm("health", "HEALTH", 0.005, -0.003),)
    assert read(health={**HEALTH, "apart": False}) == read(health=HEALTH)
    assert read(health={**HEALTH, "apart": True}, armor={"variable": "ARMOR", "gain": 1}) == (
        RewardTerm("health_gain", "HEALTH", 0.005, 0.0),
        RewardTerm("health_loss", "HEALTH", 0.0, -0.003),
        RewardTerm("armor", "ARMOR", 1.0, 0.0),
    )


@pytest.mark.parametrize(("before", "now"), [(60.0, 80.0), (80.0, 60.0), (50.0, 50.0)])
def test_gain_and_loss_apart_are_worth_as_much_together(before: float, now: float) -> None:
    (whole,) = rewards(read(health=HEALTH), before, now)
    gain, loss = rewards(read(health={**HEALTH, "apart": True}), before, now)
    assert gain + loss == whole
    assert (gain > 0.0, loss < 0.0) == (now > before, now < before)


def test_both_games_have_a_weight_for_each_of_the_two() -> None:
    terms = {"health": {**HEALTH, "apart": True}}
    with closing(make(terms=terms)) as match, closing(make_scenario(terms=terms)) as scenario:
        names = ("reward", "health_gain", "health_loss")
        assert match.reward_terms == scenario.reward_terms == names


def test_pbt_moves_gain_and_loss_by_themselves() -> None:
    config = config_from_table({"env": {"name": "doom_match"}, "pbt": {"enabled": True}}, "test")
    names = ("reward", "health_gain", "health_loss")
    values = initial_hyperparams(config, "m0", names).flat()
    rules, rng = PbtRules.from_config(config.pbt, "win"), np.random.default_rng(0)
    moved = [mutate(values, rules, rng) for _ in range(100)]
    ratios = {after["shaping.health_gain"] / after["shaping.health_loss"] for after in moved}
    assert len(ratios) > 2


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"health": {**HEALTH, "apart": 1}}, "terms.health.apart = 1: must be true or false"),
        (
            {"health": {"variable": "HEALTH", "gain": 1.0, "apart": True}},
            "terms.health.apart = true: one of the two terms would always be 0",
        ),
        (
            {"health": {**HEALTH, "apart": True}, "health_loss": HEALTH},
            "terms.health_loss: there are two terms of that name",
        ),
    ],
)
def test_what_cannot_be_two_terms_is_named(terms: dict[str, Any], problem: str) -> None:
    with pytest.raises(EnvOptionsError) as raised:
        make(terms=terms)
    assert problem in str(raised.value)
