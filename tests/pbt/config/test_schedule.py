"""Schedules of members: what holds at which frames, what is refused, how one is read back."""

import pytest

from pbt.config.dump import to_toml
from pbt.config.load import config_from_table, load_config
from pbt.config.semantics import check_against_game
from pbt.envs.registry import spec
from pbt.errors import ConfigError
from pbt.hyperparams import initial_hyperparams, scheduled_hyperparams

STEPS = [
    {"at_frames": 100, "learning_rate": 0.5},
    {"at_frames": 200, "entropy_coef": 0.25, "shaping": {"reward": 2.0}},
    {"at_frames": 300, "learning_rate": 0.125},
]
TABLE = {
    "env": {"name": "connect_four"},
    "pbt": {"enabled": False},
    "members": {"m1": {"adam_beta1": 0.5, "schedule": STEPS}},
}
TERMS = ("reward",)


def test_values_hold_until_they_are_named_again() -> None:
    config = config_from_table(TABLE, "test")
    at = {
        frames: scheduled_hyperparams(config, "m1", TERMS, frames).flat()
        for frames in (0, 99, 100, 299, 300, 10**9)
    }
    assert at[0] == at[99] == initial_hyperparams(config, "m1", TERMS).flat()
    start = {"learning_rate": 5e-4, "entropy_coef": 1e-3, "adam_beta1": 0.5, "shaping.reward": 1.0}
    assert at[99] == start
    assert at[100] == {**start, "learning_rate": 0.5}
    assert at[299] == {**start, "learning_rate": 0.5, "entropy_coef": 0.25, "shaping.reward": 2.0}
    assert at[300] == at[10**9] == {**at[299], "learning_rate": 0.125}
    assert scheduled_hyperparams(config, "m0", TERMS, 500) == initial_hyperparams(
        config, "m0", TERMS
    )


def test_a_written_schedule_reads_back(tmp_path: object) -> None:
    config = config_from_table(TABLE, "test")
    path = f"{tmp_path}/again.toml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(to_toml(config))
    assert load_config(path) == config


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"pbt": {"enabled": True}}, "members.m1.schedule: PBT would change the same values"),
        (
            {"members": {"m1": {"schedule": [STEPS[1], STEPS[0]]}}},
            r"at_frames \[200, 100\]; each must be greater",
        ),
        ({"members": {"m1": {"schedule": [STEPS[0], STEPS[0]]}}}, "each must be greater"),
        ({"members": {"m1": {"schedule": [{"learning_rate": 1.0}]}}}, "at_frames"),
        ({"members": {"m1": {"schedule": [{"at_frames": 1, "adam_beta1": 1.0}]}}}, "adam_beta1"),
    ],
)
def test_contradictions(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config_from_table({**TABLE, **changed}, "test")


def test_a_term_the_game_does_not_have() -> None:
    config = config_from_table(
        {**TABLE, "members": {"m1": {"schedule": [{"at_frames": 1, "shaping": {"rewrad": 1.0}}]}}},
        "test",
    )
    game = spec("connect_four").make()
    with pytest.raises(
        ConfigError, match=r"members.m1.schedule.0.shaping.rewrad.*did you mean reward"
    ):
        check_against_game(config, game)
    game.close()
