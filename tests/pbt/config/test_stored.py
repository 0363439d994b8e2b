"""Configs that a population ran with, under bounds that were introduced later."""

from typing import Any

import pytest

from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.config.stored import beyond_bounds, config_as_stored
from pbt.errors import ConfigError

GAME: dict[str, Any] = {"env": {"name": "connect_four"}}
BEYOND: dict[str, Any] = {
    **GAME,
    "learning": {"value_coef": 500.0, "shaping": {"hit": -1e13}, "epochs": 2000},
    "pbt": {"enabled": False, "entropy_coef_bounds": [1.0, 300.0]},
    "members": {"m1": {"schedule": [{"at_frames": 9, "entropy_coef": 200}]}},
}


def read(*overrides: str) -> RunConfig:
    return config_as_stored(BEYOND, "stored config of 'one'", overrides)


def test_numbers_beyond_a_bound_of_now_stay_as_they_are() -> None:
    with pytest.raises(ConfigError, match="has 5 problems"):
        config_from_table(BEYOND, "config")
    config = read()
    assert (config.learning.value_coef, config.learning.epochs) == (500.0, 2000)
    assert config.learning.shaping == {"hit": -1e13}
    assert config.pbt.entropy_coef_bounds == (1.0, 300.0)
    assert config.members["m1"].schedule[0].entropy_coef == 200.0
    again = config_as_stored(config.model_dump(mode="json"), "again")
    assert again == config
    said = beyond_bounds(config)
    assert len(said) == 5
    assert (
        "learning.value_coef = 500.0: beyond what it may be by now, a number from 0 to 100" in said
    )
    assert beyond_bounds(config_from_table(GAME, "config")) == []


def test_an_edit_is_held_to_the_bounds() -> None:
    config = read(
        "learning.value_coef=100", "pbt.entropy_coef_bounds=[1.0, 2.0]", "learning.gamma=0.5"
    )
    assert (config.learning.value_coef, config.learning.gamma) == (100.0, 0.5)
    assert config.pbt.entropy_coef_bounds == (1.0, 2.0)
    assert config.learning.epochs == 2000
    assert read("learning.shaping={}").learning.shaping == {}
    with pytest.raises(ConfigError, match="--set learning.value_coef = 600: must be a number"):
        read("learning.value_coef=600")


@pytest.mark.parametrize(
    "learning", [{"value_coef": -1.0}, {"value_coef": "many"}, {"value_koef": 1.0}, {"epochs": 0}]
)
def test_what_was_never_right_is_refused(learning: dict[str, Any]) -> None:
    table = {**BEYOND, "learning": {**BEYOND["learning"], **learning}}
    with pytest.raises(ConfigError, match="1 problem"):
        config_as_stored(table, "stored config of 'one'")
