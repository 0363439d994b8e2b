"""Numbers of a config that float32 does not hold are refused by name, with the bound."""

from pathlib import Path

import numpy as np
import pytest

from pbt.config.float32 import LARGEST, SMALLEST, float32_problem
from pbt.config.load import config_from_table, load_config
from pbt.errors import ConfigError

TABLE = {"env": {"name": "connect_four"}}
AT_MOST = "must be at most 3.402823e+38 in magnitude"
AT_LEAST = "must be 0, or at least 1.175494e-38 in magnitude"


@pytest.mark.parametrize(
    ("word", "place", "words"),
    [
        ("pbt.copy_gap=1e300", "pbt.copy_gap = 1e+300: ", AT_MOST),
        ("learning.adam_eps=1e-50", "learning.adam_eps = 1e-50: as a float32 it is 0; ", AT_LEAST),
        ("learning.adam_eps=1e-40", "adam_eps = 1e-40: as a float32 it loses digits; ", AT_LEAST),
        ("learning.adam_eps=1e-400", "learning.adam_eps = 5e-324 or closer to 0: ", AT_LEAST),
        ("learning.learning_rate=1e-400", "learning.learning_rate = 5e-324 or closer", AT_LEAST),
        ("members.m0.learning_rate=1e-50", "members.m0.learning_rate = 1e-50: ", AT_LEAST),
        (
            "members.m0.schedule=[{ at_frames = 5, entropy_coef = 1e-50 }]",
            "members.m0.schedule[0].entropy_coef = 1e-50: ",
            AT_LEAST,
        ),
        ("pbt.shaping_bounds=[1e-50, 1]", "pbt.shaping_bounds[0] = 1e-50: ", AT_LEAST),
    ],
)
def test_a_number_that_float32_does_not_hold_is_refused_by_name(
    word: str, place: str, words: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        config_from_table(TABLE, "x", [word, "pbt.enabled=false"])
    (problem,) = refused.value.problems
    assert place in problem and words in problem


HUGE = [
    *(f"learning.{key}=1e38" for key in ("value_coef", "entropy_coef", "learning_rate")),
    *(f"learning.{key}=1e38" for key in ("adam_eps", "vtrace_rho", "vtrace_c", "ratio_clip")),
    *(f"learning.{key}=1e38" for key in ("max_grad_norm", "reward_scale", "timeout_s")),
    *("learning.epochs=1000000", "learning.shaping.reward=-1e38", "model.policy_gain=1e38"),
    *("pbt.mutation_factor=1e38", "pbt.shaping_bounds=[1, 1e38]", "members.m0.entropy_coef=1e38"),
    *("pbt.learning_rate_bounds=[1e-6, 1e38]", "env.timeout_s=1e38", "checkpoints.every_s=1e38"),
    *("runtime.silent_after_s=1e38", "runtime.inference_delay_s=1e38"),
]


@pytest.mark.parametrize("word", HUGE)
def test_a_number_that_is_surely_a_mistake_is_refused_with_what_was_expected(word: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config_from_table(TABLE, "x", [word])
    (problem,) = refused.value.problems
    key = word.partition("=")[0]
    assert problem.removeprefix("--set ").startswith(key)
    assert "at most" in problem or " to " in problem


def test_a_file_that_holds_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('env = { name = "connect_four" }\nlearning = { entropy_coef = -0.0_1e-400 }\n')
    with pytest.raises(ConfigError, match=r"entropy_coef = -5e-324: must be"):
        load_config(path)


def test_a_product_that_float32_does_not_hold_names_both_factors() -> None:
    words = ["learning.reward_scale=1e-30", "learning.shaping={ reward = 1e-30 }"]
    with pytest.raises(ConfigError, match=r"shaping.reward = 1e-30: times learning.reward_scale"):
        config_from_table(TABLE, "x", words)


def test_what_float32_holds_is_taken_and_options_are_the_games_own() -> None:
    words = [
        "learning.learning_rate=0.0",
        f"pbt.copy_gap={LARGEST!r}",
        f"learning.adam_eps={SMALLEST!r}",
        "env.options.far=1e300",
    ]
    config = config_from_table(TABLE, "x", words)
    assert config.learning.learning_rate == 0 and config.env.options == {"far": 1e300}


def test_the_bounds_are_those_of_numpy() -> None:
    rng = np.random.default_rng(1)
    limits = np.finfo(np.float32)
    assert (float(limits.max), float(limits.tiny)) == (LARGEST, SMALLEST)
    for number in 10.0 ** rng.uniform(-60, 45, 2000) * rng.choice([-1, 1], 2000):
        with np.errstate(over="ignore", under="ignore"):
            single = np.float32(number)
        usable = np.isfinite(single) and abs(number) >= SMALLEST
        assert (float32_problem(float(number)) is None) == usable
        assert ("it is 0;" in (float32_problem(float(number)) or "")) == (single == 0)
