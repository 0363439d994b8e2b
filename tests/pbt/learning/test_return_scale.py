"""Normalised returns: what a game pays does not change what is learned from it."""

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from pbt.algorithms.batch import Batch, zeroed_observations
from pbt.config.learning import LearningConfig, ModelConfig
from pbt.learning.learner import Learner
from pbt.learning.reducer import SingleReducer
from pbt.learning.return_scale import ReturnScale
from pbt.models.weights import to_bytes

Make = Callable[..., Any]
CONFIG = LearningConfig(
    learning_rate=1e-2, epochs=2, minibatches=2, normalize_returns=True, entropy_coef=0.01
)
MODEL = ModelConfig(hidden=(16,))


def paying(batch: Batch, times: float) -> Batch:
    return replace(batch, rewards=batch.rewards * times)


def values(learner: Learner, batch: Batch) -> Tensor:
    """What the value head predicts, in its own unit."""
    with torch.no_grad():
        return learner.model.unroll(
            zeroed_observations(batch), batch.mask, batch.episode_start, batch.initial_state
        )[1][:-1][batch.valid]


def trained(make_bench: Make, config: LearningConfig, times: float, updates: int = 6) -> Learner:
    bench = make_bench(config=config, model_config=MODEL)
    learner: Learner = bench.learner()
    for seed in range(updates):
        learner.update(paying(bench.batch(bench.model(5), seed=seed), times))
    return learner


@pytest.mark.parametrize("times", [2.0**-10, 2.0**10])
def test_rewards_of_any_size_are_learned_from_alike(
    make_bench: Make, weights_of: Callable[[Learner], Tensor], times: float
) -> None:
    one, other = (trained(make_bench, CONFIG, size) for size in (1.0, times))
    torch.testing.assert_close(weights_of(one), weights_of(other), rtol=1e-4, atol=1e-5)
    plain = replace_config(CONFIG, normalize_returns=False)
    one, other = (trained(make_bench, plain, size) for size in (1.0, times))
    assert float((weights_of(one) - weights_of(other)).abs().max()) > 0.01


def replace_config(config: LearningConfig, **changes: Any) -> LearningConfig:
    return config.model_copy(update=changes)


def test_the_first_scale_is_the_size_of_the_rewards_sums(make_bench: Make) -> None:
    """Against a plain loop over every slot, from its end to its beginning."""
    bench = make_bench(config=CONFIG, model_config=MODEL, terms=("win",))
    learner = bench.learner(hyperparams=replace(bench.hyperparams(), shaping={"win": 3.0}))
    batch = bench.batch(bench.model(5))
    factor, found = CONFIG.gamma * CONFIG.gae_lambda, []
    for slot in range(batch.slots):
        following = 0.0
        for step in reversed(range(bench.steps)):
            if not batch.valid[step, slot]:
                following = 0.0
                continue
            ends = bool(batch.terminated[step, slot])
            following = 3.0 * float(batch.rewards[step, slot, 0]) + (not ends) * factor * following
            found.append(following)
    scale = ReturnScale(torch.device("cpu"))
    rewards, discounts = learner._rewards(batch), learner._discounts(batch)
    scale.begin(rewards, discounts, batch.valid, CONFIG.gae_lambda, SingleReducer())
    assert scale.scale == pytest.approx(math.sqrt(np.square(found).mean()), rel=1e-5)
    assert float(scale.sums[0]) == len(found)


def test_predictions_stay_the_same_in_rewards_when_the_scale_changes(make_bench: Make) -> None:
    bench = make_bench(config=CONFIG, model_config=MODEL)
    model, batch = bench.model(5), bench.batch(bench.model(5))
    learner = Learner(model, CONFIG, bench.hyperparams(), bench.terms, key=(1, "m0"))
    scale = ReturnScale(torch.device("cpu"))
    scale.load({"returns.sums": torch.tensor([100.0, 400.0], dtype=torch.float64)}, own=True)
    before = values(learner, batch) * scale.scale
    assert scale.scale == 2.0
    # 300 targets of 3 in the present unit, which are 6 in rewards.
    scale.follow(300.0, 300.0 * 9.0, model)
    assert scale.scale == pytest.approx(math.sqrt((400 + 300 * 36) / 400))
    torch.testing.assert_close(values(learner, batch) * scale.scale, before)


def test_the_scale_follows_the_targets_of_all_updates(make_bench: Make) -> None:
    """Rewards that became a hundred times as large show in the scale, and not in the values."""
    bench = make_bench(config=CONFIG, model_config=MODEL)
    learner = bench.learner()
    for seed in range(3):
        learner.update(bench.batch(bench.model(5), seed=seed))
    small = learner.state()["returns.sums"]
    for seed in range(60):
        learner.update(paying(bench.batch(bench.model(5), seed=seed), 100.0))
    large = learner.state()["returns.sums"]
    ratio = math.sqrt(float(large[1] / large[0]) / float(small[1] / small[0]))
    assert 30.0 < ratio < 100.0
    assert float(values(learner, bench.batch(bench.model(5))).abs().max()) < 10.0


def test_without_a_reward_the_scale_is_one_and_the_head_is_left_alone(make_bench: Make) -> None:
    on, off = (
        trained(make_bench, replace_config(CONFIG, normalize_returns=normalized), 0.0)
        for normalized in (True, False)
    )
    assert on.state().pop("returns.sums").tolist() == [0.0, 0.0]
    assert torch.equal(on.model.heads.weight, off.model.heads.weight)


def test_a_learner_that_does_not_normalise_keeps_no_scale(make_bench: Make) -> None:
    state = make_bench(config=LearningConfig(normalize_returns=False)).learner().state()
    assert not any(name.startswith("returns") for name in state)


@pytest.mark.parametrize("value_clip", [None, 0.1])
def test_saved_loaded_continued_is_bit_identical(
    make_bench: Make, value_clip: float | None
) -> None:
    config = replace_config(CONFIG, value_clip=value_clip)
    bench = make_bench(config=config, model_config=MODEL)
    one, two = trained(make_bench, config, 50.0, 3), bench.learner(seed=9)
    two.load_state(load(to_bytes(one.state())))
    for seed in range(3, 6):
        batch = paying(bench.batch(bench.model(5), seed=seed, version=seed - 2), 70.0)
        assert asdict(one.update(batch)) == asdict(two.update(batch))
    mine, theirs = one.state(), two.state()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_a_copy_takes_the_scale_with_the_weights(make_bench: Make) -> None:
    """A head copied without its unit would predict returns a thousand times too small."""
    bench = make_bench(config=CONFIG, model_config=MODEL)
    winner, loser = (trained(make_bench, CONFIG, times) for times in (1000.0, 1.0))
    loser.copy_from(winner.state())
    batch = paying(bench.batch(bench.model(5), seed=9), 1000.0)
    winner.update(batch)
    assert not torch.equal(loser.state()["returns.sums"], winner.state()["returns.sums"])
    loser.update(batch)
    mine, theirs = loser.state(), winner.state()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
