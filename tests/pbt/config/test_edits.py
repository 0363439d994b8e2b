"""Edits of a started population: what it can never take is told before what contradicts it."""

import pytest

from pbt.config.edits import edited_config
from pbt.config.resume import diff_shapes, is_editable
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError


def config(**learning: object) -> RunConfig:
    return RunConfig.model_validate({"env": {"name": "x"}, "learning": learning})


STORED = config()


def refused(before: RunConfig, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        edited_config(before, "stored config of 'k3' with --set", overrides)
    return list(caught.value.problems)


def test_the_optimiser_is_fixed_before_its_moments_contradict_it() -> None:
    assert refused(STORED, "learning.optimizer=rmsprop") == [
        'learning.optimizer = "rmsprop": fixed at "adam" when the population started; leave it, '
        "or train a new population under another name"
    ]


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("learning.batch_steps=1000", "learning.batch_steps"),
        ("sampling.rollout_steps=7", "sampling.rollout_steps"),
        ("model.conv=[]", "model.conv"),
        ('model={encoder = "conv", conv = []}', "model.encoder"),
        ("model.hidden=8", "model.hidden"),
        ("pbt.spread_start=0.5", "pbt.spread_start"),
    ],
)
def test_a_fixed_key_is_told_whatever_it_contradicts(override: str, key: str) -> None:
    stored = RunConfig.model_validate(
        {"env": {"name": "x"}, "model": {"encoder": "conv", "conv": [{"channels": 4, "kernel": 3}]}}
        if key == "model.conv"
        else {"env": {"name": "x"}}
    )
    lines = refused(stored, override, "stop_at_frames=9")
    assert not is_editable(key)
    assert any(line.startswith(f"{key} = ") and ": fixed at " in line for line in lines)
    assert all(": fixed at " in line for line in lines)


def test_what_is_wrong_with_other_edits_is_told_with_it() -> None:
    lines = refused(STORED, "learning.optimizer=rmsprop", "learning.gamma=7", "learning.gama=0.9")
    assert [line.partition(": ")[0] for line in lines] == [
        'learning.optimizer = "rmsprop"',
        "--set learning.gamma = 7",
        "--set learning.gama",
    ]


def test_contradictions_of_edits_that_it_takes_are_told_as_before() -> None:
    (line,) = refused(config(optimizer="rmsprop"), "learning.adam_beta1=0.5")
    assert line == (
        '--set learning.adam_beta1 = 0.5: the optimiser "rmsprop" has no such value ("adam" has); '
        "make it 0"
    )
    same = edited_config(STORED, "stored", ["learning.optimizer=adam", "learning.gamma=0.5"])
    assert same.learning.gamma == 0.5


def test_a_magnet_and_a_clip_change_where_learners_remember_what_they_need() -> None:
    with_both = {"magnet_coef": 0.1, "value_clip": 0.2}
    began = config(**with_both)
    assert diff_shapes(began, config(magnet_coef=0.3, value_clip=0.5, magnet_decay=0.9)) == []
    for one, other in ((began, STORED), (STORED, began)):
        magnet, clip = diff_shapes(one, other)
        assert magnet.startswith("learning.magnet_coef = ") and "keep the magnet" in magnet
        assert clip.startswith("learning.value_clip = ") and "scales of their newest" in clip
    plain = {"normalize_returns": False}
    assert diff_shapes(config(**plain), config(**plain, value_clip=0.2)) == []
