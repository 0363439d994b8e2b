"""What a learner refuses, skips and says when numbers, shapes or weights are wrong."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from pbt.config.learning import ModelConfig
from pbt.errors import EngineError, SnapshotError
from pbt.learning.learner import MAX_SKIPS_IN_A_ROW
from tests.pbt.learning.one_pass import equal_states, one_pass, with_log_probs_less

Make = Callable[..., Any]
Weights = Callable[[Any], Tensor]


def test_a_state_of_another_shape_is_refused_whole(make_bench: Make) -> None:
    learner = make_bench().learner()
    other = make_bench(model_config=ModelConfig(hidden=(12,), core="gru", gru_size=8)).learner()
    before = learner.state()
    with pytest.raises(
        SnapshotError,
        match=(
            r"learner of m0.*model.hidden.0.weight: found float32 \[12, 5\], expected "
            r"float32 \[16, 5\]"
        ),
    ):
        learner.load_state(other.state())
    assert equal_states(before, learner.state())


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_broken_gradient_is_skipped_counted_and_at_last_named(
    make_bench: Make, bad: float
) -> None:
    bench = make_bench()
    learner = bench.learner()
    good = bench.batch(learner.model)
    rewards = good.rewards.clone()
    rewards[good.valid] = bad
    broken = replace(good, rewards=rewards)
    before = learner.state()
    for _ in range(MAX_SKIPS_IN_A_ROW - 1):
        assert learner.update(broken).skipped_steps == 1
    after = learner.state()
    assert all(torch.equal(before[name], after[name]) for name in before if name != "clocks")
    assert learner.version == 0
    assert learner.skipped == MAX_SKIPS_IN_A_ROW - 1
    assert learner.update(good).skipped_steps == 0
    for _ in range(MAX_SKIPS_IN_A_ROW - 1):
        learner.update(broken)
    with pytest.raises(
        EngineError,
        match=(
            r"learner of m0: 10 updates in a row without a finite gradient at version 1 "
            r".*learning_rate = 0\.01"
        ),
    ):
        learner.update(broken)


@pytest.mark.parametrize(
    ("observations", "rewards", "words"),
    [
        (1e9, 1.0, "observation leaf observation holds numbers as large as .*e.09: scale them, "),
        (1.0, 1e25, r"scaled rewards are as large as .*e\+25: lower learning.reward_scale"),
    ],
)
def test_what_is_too_large_is_named_in_place_of_the_rate(
    make_bench: Make, observations: float, rewards: float, words: str
) -> None:
    bench = make_bench(config=one_pass(learning_rate=0.01, normalize_advantages=False))
    learner = bench.learner()
    batch = bench.batch(learner.model)
    large = replace(
        batch,
        observations={name: leaf * observations for name, leaf in batch.observations.items()},
        rewards=batch.rewards * rewards,
    )
    if observations != 1.0:
        large = with_log_probs_less(large, 80.0)
    for _ in range(MAX_SKIPS_IN_A_ROW - 1):
        learner.update(large)
    with pytest.raises(EngineError, match=words) as raised:
        learner.update(large)
    assert "learning_rate" not in str(raised.value).partition("); ")[2]


def test_updates_that_were_taken_and_refused_are_counted_apart(make_bench: Make) -> None:
    bench = make_bench(config=one_pass(epochs=3))
    learner = bench.learner()
    good = bench.batch(learner.model)
    stats = learner.update(good)
    assert (stats.taken_steps, stats.skipped_steps) == (3, 0)
    stats = learner.update(replace(good, rewards=good.rewards * 1e30))
    assert (stats.taken_steps, stats.skipped_steps) == (0, 3)


def test_a_loss_that_is_not_finite_is_skipped_though_its_gradient_is(
    make_bench: Make, weights_of: Weights
) -> None:
    """Squares overflow before their slopes do."""
    bench = make_bench(config=one_pass(value_coef=1e-12))
    learner = bench.learner()
    batch = bench.batch(learner.model)
    huge = replace(batch, rewards=batch.rewards * 1e19)
    before = weights_of(learner)
    assert learner.update(huge).skipped_steps == 1
    assert torch.equal(before, weights_of(learner))
    assert learner.update(replace(batch, rewards=batch.rewards * 1e17)).skipped_steps == 0


def test_a_reward_term_without_weight_is_refused(make_bench: Make) -> None:
    bench = make_bench()
    with pytest.raises(
        EngineError, match=r"shaping has \['kill'\]; expected a weight for ammo as well"
    ):
        bench.learner(hyperparams=replace(bench.hyperparams(), shaping={"kill": 1.0}))


def test_weights_that_are_no_numbers_any_more_are_refused_before_anybody_acts_by_them(
    make_bench: Make,
) -> None:
    wild = one_pass().model_copy(update={"learning_rate": 1e38})  # which a config cannot say
    learner = (bench := make_bench(config=wild)).learner()

    def learn() -> None:
        for _ in range(20):
            learner.update(bench.batch(learner.model))

    with pytest.raises(
        EngineError,
        match=(
            r"learner of m0: the weights left the range of numbers at version \d+ "
            r"\(learning_rate = 1e\+38"
        ),
    ):
        learn()
