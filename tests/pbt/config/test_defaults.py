"""A training says what its config left to the defaults."""

from pbt.config.defaults import defaults_line, left_to_defaults
from pbt.config.load import config_from_table, load_config, shipped_configs

GAME = {"env": {"name": "connect_four"}}


def test_a_config_of_a_game_alone_leaves_all_to_the_defaults() -> None:
    config = config_from_table(GAME, "test")
    chosen = left_to_defaults(config, config)
    assert chosen["learning.minibatches"] == config.learning.minibatches == 8
    assert {"model.hidden", "sampling.environments", "learning.normalize_returns"} <= chosen.keys()
    line = defaults_line(chosen)
    assert "learning.epochs = 10" in line and "learning.normalize_returns = true" in line


def test_what_the_file_or_an_override_names_is_not_left() -> None:
    config = config_from_table(GAME | {"learning": {"epochs": 10}}, "test", ["model.hidden=[8]"])
    chosen = left_to_defaults(config, config)
    assert not {"learning.epochs", "model.hidden"} & chosen.keys()
    assert "learning.minibatches" in chosen


def test_a_stored_config_and_the_shipped_ones_name_how_they_learn() -> None:
    stored = config_from_table(config_from_table(GAME, "test").model_dump(mode="json"), "stored")
    assert left_to_defaults(stored, stored) == {}
    for name in shipped_configs():
        config = load_config(name)
        left = left_to_defaults(config, config)
        assert not any(key.startswith("learning.") for key in left), (name, left)
