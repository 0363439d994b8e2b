"""Start values: spread around the config's, and inside the bounds of mutation."""

import math
from typing import Any

import numpy as np
import pytest

from pbt.config.load import config_from_table, load_config
from pbt.config.population import MemberOverride, PbtConfig
from pbt.config.resume import diff_shapes
from pbt.config.schema import RunConfig
from pbt.config.start_values import start_problems
from pbt.errors import ConfigError
from pbt.hyperparams import initial_hyperparams, scheduled_hyperparams, with_edits
from pbt.population.mutation import mutate
from pbt.population.pbt_rules import PbtRules

TERMS = ("damage", "death", "none")


def config(*, pbt: dict[str, Any] | None = None, **more: Any) -> RunConfig:
    learning = {"learning_rate": 1e-3, "shaping": {"damage": 0.5, "death": -2.0, "none": 0.0}}
    table = {"env": {"name": "x"}, "learning": learning, "pbt": pbt or {}, **more}
    return RunConfig.model_validate(table)


def flat(of: RunConfig, member: str) -> dict[str, float]:
    return initial_hyperparams(of, member, TERMS).flat()


def test_start_values_are_log_uniform_around_the_configs() -> None:
    """400 members: each value within the factor, its logarithm uniform, no two values alike."""
    spread, plain = config(pbt={"spread_start": 3.0}), flat(config(), "m0")
    assert flat(spread, "m0") == plain, "the first one keeps the config's"
    drawn = [flat(spread, f"m{index}") for index in range(1, 401)]
    for name, value in plain.items():
        if value == 0.0:
            assert {each[name] for each in drawn} == {0.0}
            continue
        sizes = [
            (1 - each[name]) / (1 - value) if name == "adam_beta1" else each[name] / value
            for each in drawn
        ]
        places = sorted((math.log(size, 3.0) + 1.0) / 2.0 for size in sizes)
        assert places[0] >= 0.0 and places[-1] <= 1.0
        # Kolmogorov's distance of 400 uniform numbers exceeds 0.1 once in two thousand times.
        assert max(abs(place - (n + 0.5) / 400) for n, place in enumerate(places)) < 0.1, name
    first = drawn[0]
    assert first["learning_rate"] / 1e-3 != pytest.approx(first["shaping.damage"] / 0.5)
    assert flat(spread, "m1") == first, "drawn again, they are the same"
    assert flat(spread.model_copy(update={"seed": 2}), "m1") != first


def test_without_a_factor_nothing_is_drawn() -> None:
    assert flat(config(), "m3") == {
        "learning_rate": 1e-3,
        "entropy_coef": config().learning.entropy_coef,
        "adam_beta1": config().learning.adam_beta1,
        "shaping.damage": 0.5,
        "shaping.death": -2.0,
        "shaping.none": 0.0,
    }


def test_a_members_own_values_are_not_drawn_and_the_others_do_not_notice() -> None:
    own = {"m1": MemberOverride(learning_rate=5e-3)}
    spread = config(pbt={"spread_start": 2.0})
    with_own = spread.model_copy(update={"members": own})
    assert flat(with_own, "m1") == {**flat(spread, "m1"), "learning_rate": 5e-3}
    assert (
        initial_hyperparams(spread, "m1", ("damage",)).shaping["damage"]
        == (flat(spread, "m1")["shaping.damage"])
    ), "a value does not depend on which others there are"


def test_values_stay_inside_the_bounds() -> None:
    bounds = {"spread_start": 100.0, "learning_rate_bounds": [9e-4, 1.1e-3]}
    bounds["one_minus_adam_beta1_bounds"] = [0.09, 0.11]
    spread = config(pbt=bounds)
    for index in range(20):
        values = flat(spread, f"m{index}")
        assert 9e-4 <= values["learning_rate"] <= 1.1e-3
        assert 0.89 - 1e-12 <= values["adam_beta1"] <= 0.91 + 1e-12


def test_pbt_leaves_a_value_alone_whose_bounds_are_equal() -> None:
    bounds = {"learning_rate_bounds": [1e-3, 1e-3], "one_minus_adam_beta1_bounds": [0.1, 0.1]}
    held = config(pbt={"spread_start": 3.0, "mutation_probability": 1.0, **bounds})
    values = flat(held, "m2")
    rules = PbtRules.from_config(held.pbt, "win")
    mutated = mutate(values, rules, np.random.default_rng(1))
    for name in ("learning_rate", "adam_beta1"):
        assert values[name] == mutated[name] == flat(config(), "m2")[name]
    assert mutated["entropy_coef"] != values["entropy_coef"] != flat(config(), "m2")["entropy_coef"]


def test_schedules_go_on_from_the_drawn_values() -> None:
    steps = [{"at_frames": 10, "entropy_coef": 0.5}]
    spread = config(
        pbt={"enabled": False, "spread_start": 2.0}, members={"m1": {"schedule": steps}}
    )
    later = scheduled_hyperparams(spread, "m1", TERMS, 10).flat()
    assert later == {**flat(spread, "m1"), "entropy_coef": 0.5}


def test_a_member_that_comes_after_an_edit_begins_around_the_edited_values() -> None:
    spread = config(pbt={"spread_start": 2.0})
    edited = with_edits(spread, {"learning_rate": 4e-3, "shaping.damage": 1.0})
    before, after = flat(spread, "m5"), flat(edited, "m5")
    assert after["learning_rate"] == pytest.approx(4 * before["learning_rate"])
    assert after["shaping.damage"] == pytest.approx(2 * before["shaping.damage"])
    assert after["shaping.death"] == before["shaping.death"]


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("learning.learning_rate", 0.5, "outside pbt.learning_rate_bounds = [1e-06, 0.1]"),
        ("learning.entropy_coef", 2.0, "expected 1e-06 to 1"),
        ("learning.adam_beta1", 0.3, "expected 0.5 to 0.999"),
        ("learning.shaping.death", -1e5, "expected 0.0001 to 10000 in size"),
        ("members.m1.learning_rate", 1e-9, "outside pbt.learning_rate_bounds"),
        ("members.m1.shaping.death", 1e-9, "outside pbt.shaping_bounds"),
    ],
)
def test_a_start_value_outside_its_bounds_is_refused(key: str, value: float, found: str) -> None:
    with pytest.raises(ConfigError, match="outside pbt") as raised:
        load_config("connect_four", [f"{key}={value}"])
    assert f"{key} = {value:g}: " in str(raised.value) and found in str(raised.value)
    assert not load_config("connect_four", [f"{key}={value}", "pbt.enabled=false"]).pbt.enabled
    stored = load_config("connect_four").model_dump(mode="json")
    edited = config_from_table(stored, "stored", [f"{key}={value}"])
    assert any(
        line.startswith(f"{key} = {value:g}: outside")
        for line in diff_shapes(config_from_table(stored, "stored"), edited)
    )


def test_what_began_outside_goes_on_until_it_is_edited() -> None:
    began = config(learning={"learning_rate": 0.5})
    assert list(start_problems(began)) == ["learning.learning_rate"]
    longer = began.model_copy(update={"stop_at_frames": 7})
    assert diff_shapes(began, longer) == []
    off = began.model_copy(update={"pbt": PbtConfig(enabled=False)})
    assert start_problems(off) == {}
    assert "learning.learning_rate = 0.5: outside" in diff_shapes(off, began)[0]


def test_zero_is_switched_off_and_in_no_bounds() -> None:
    zeros = {"learning_rate": 0.0, "entropy_coef": 0.0, "adam_beta1": 0.0}
    assert start_problems(config(learning=zeros)) == {}
    edges = {"learning_rate": 0.1, "entropy_coef": 1e-6, "adam_beta1": 0.999}
    assert start_problems(config(learning=edges)) == {}


def test_rmsprop_has_no_first_moment_that_pbt_could_move() -> None:
    rmsprop = {"env": {"name": "x"}, "learning": {"optimizer": "rmsprop"}}
    config = RunConfig.model_validate(rmsprop)
    assert config.learning.adam_beta1 == 0.0
    assert not start_problems(config)
    schedule = [{"at_frames": 5, "adam_beta1": 0.5}]
    edits: tuple[dict[str, object], ...] = (
        {"learning": {"optimizer": "rmsprop", "adam_beta1": 0.9}},
        {"members": {"m1": {"adam_beta1": 0.9}}},
        {"pbt": {"enabled": False}, "members": {"m1": {"schedule": schedule}}},
    )
    for edit in edits:
        with pytest.raises(ValueError, match=r"adam_beta1 = 0\.\d: .*\"rmsprop\" has no such"):
            RunConfig.model_validate({**rmsprop, **edit})
