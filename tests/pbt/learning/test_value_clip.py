"""The clip of the value loss in the learner: what it compares, and in which unit."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from pbt.algorithms.appo import Appo
from pbt.algorithms.batch import Batch
from pbt.config.learning import LearningConfig, ModelConfig
from pbt.learning.learner import Learner
from pbt.learning.reducer import SingleReducer
from pbt.learning.return_scale import ReturnScale
from pbt.models.policy_model import PolicyModel
from tests.pbt.learning.one_pass import one_pass

Make = Callable[..., Any]
CLIP = 1e-3
MODEL = ModelConfig(hidden=(16,))


def paying(batch: Batch, times: float) -> Batch:
    return replace(batch, rewards=batch.rewards * times)


def gradient(learner: Learner, batch: Batch, **changes: Any) -> Tensor:
    """The gradient at the learner's present state, by a config with changes."""
    before = learner.algorithm
    learner.algorithm = Appo(learner.config.model_copy(update=changes))
    found, _ = learner.gradients(batch)
    learner.algorithm = before
    return found


def updated(
    make_bench: Make, config: LearningConfig, updates: int
) -> tuple[Learner, list[PolicyModel], Any]:
    """A learner, the model that acted for each of its versions, and its bench.

    Rewards grow with each update, so that the scale of returns does, too.
    """
    bench = make_bench(config=config, model_config=MODEL)
    learner: Learner = bench.learner()
    acting = [copy.deepcopy(learner.model)]
    for update in range(updates):
        batch = bench.batch(acting[-1], seed=update, version=update)
        learner.update(paying(batch, 2.0**update))
        acting.append(copy.deepcopy(learner.model))
    return learner, acting, bench


@pytest.mark.parametrize("version", [0, 1, 3, 5])
def test_what_acted_is_compared_in_the_unit_of_the_present_head(
    make_bench: Make, version: int
) -> None:
    """With a learning rate of 0 a head only changes its unit, so no value has moved."""
    config = one_pass(learning_rate=0.0, normalize_returns=True, value_clip=CLIP)
    learner, acting, bench = updated(make_bench, config, 5)
    assert learner.version == 5
    batch = bench.batch(acting[version], seed=9, version=version)
    plain = gradient(learner, batch, value_clip=None)
    torch.testing.assert_close(gradient(learner, batch), plain)
    if version < 5:
        wrong = replace(batch, version=torch.full_like(batch.version, learner.version))
        assert not torch.allclose(gradient(learner, wrong), plain, rtol=0.01)


def test_values_of_older_versions_are_those_of_their_heads_in_rewards(make_bench: Make) -> None:
    bench = make_bench(config=one_pass(), model_config=MODEL)
    model, values = bench.model(), torch.tensor([[1.0, -2.0]])
    scale, scales = ReturnScale(torch.device("cpu"), keeps_heads=True), []
    nothing, valid = torch.zeros(1, 2), torch.ones(1, 2, dtype=torch.bool)
    rewards = torch.full((1, 2), 3.0)
    for version in range(300):
        scale.begin(rewards, nothing, valid, 1.0, _Alone(), version)
        scales.append(scale.scale)
        scale.follow(10.0, 10.0 * (2.0 + version % 3) ** 2, model)
    for version in (299, 280, 240):
        versions = torch.tensor([[version, 299]])
        found = scale.in_present_unit(values, versions)
        expected = [scales[version] / scale.scale, -2.0 * scales[299] / scale.scale]
        assert found[0].tolist() == pytest.approx(expected, rel=1e-5)
    kept = 64
    oldest, older = (scale.in_present_unit(values, torch.tensor([[v, v]])) for v in (301 - kept, 3))
    assert torch.equal(oldest, older), "only the newest are kept"
    state = {name: tensor.clone() for name, tensor in scale.tensors().items()}
    other = ReturnScale(torch.device("cpu"), keeps_heads=True)
    other.load(state, own=True)
    old = torch.tensor([[270, 290]])
    assert torch.equal(other.in_present_unit(values, old), scale.in_present_unit(values, old))
    other.load(state, own=False)
    assert torch.equal(other.in_present_unit(values, old), values), "no rows outlive a copy"


class _Alone:
    def sum(self, vector: Tensor) -> Tensor:
        return vector


def test_without_normalised_returns_the_values_are_compared_as_they_are(make_bench: Make) -> None:
    config = one_pass(learning_rate=1e-2)
    learner, acting, bench = updated(make_bench, config, 3)
    batch = bench.batch(acting[0], seed=9, version=0)
    inputs = learner.loss_inputs(batch, SingleReducer())
    assert inputs.unit is None, "values are in the unit of the rewards"
    wide = gradient(learner, batch, value_clip=1e6)
    torch.testing.assert_close(wide, gradient(learner, batch))
    assert not torch.allclose(gradient(learner, batch, value_clip=CLIP), wide, rtol=0.01)


@pytest.mark.parametrize("normalized", [False, True])
def test_statistics_tell_the_squared_error_whether_or_not_the_loss_is_clipped(
    make_bench: Make, normalized: bool
) -> None:
    config = one_pass(learning_rate=0.0, normalize_returns=normalized)
    found = []
    for clip in (None, CLIP):
        clipped = config.model_copy(update={"value_clip": clip})
        bench = make_bench(config=clipped, model_config=MODEL)
        learner = bench.learner()
        found.append(learner.update(bench.batch(bench.model(5), seed=1)))
    plain, clipped_stats = found
    for name in ("value_loss", "explained_variance"):
        assert plain.means[name] == clipped_stats.means[name] != 0.0
    assert plain.grad_norm != clipped_stats.grad_norm
