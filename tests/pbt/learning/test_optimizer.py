"""Optimisers beside torch's and slow ones in float64, and gradients at other parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pbt.errors import SnapshotError
from pbt.learning.learner import Learner
from pbt.learning.optimizer import (
    Adam,
    FlatParameters,
    Optimizer,
    RMSProp,
    new_optimizer,
)
from tests.pbt.learning.one_pass import one_pass
from tests.pbt.models.memories import MEMORIES, memory

Make = Callable[..., Any]
Weights = Callable[[Learner], Tensor]
Vector = NDArray[np.float64]
SIZE, STEPS = 257, 30
START = torch.from_numpy(np.random.default_rng(0).normal(size=SIZE)).float()
# Of very different sizes, so that it matters where epsilon stands.
GRADIENTS = [
    torch.from_numpy(rng.normal(size=SIZE) * 10.0 ** rng.uniform(-6, 2, SIZE)).float()
    for rng in map(np.random.default_rng, range(STEPS))
]


class Rates(NamedTuple):
    learning_rate: float
    adam_beta1: float


RATES = [Rates(10.0 ** -(2 + step % 3), 0.5 + 0.4 * (step % 2)) for step in range(STEPS)]


def taken(optimizer: Optimizer, rates: list[Rates]) -> Tensor:
    """Where the steps lead."""
    vector = START.clone()
    for gradient, rate in zip(GRADIENTS, rates, strict=True):
        optimizer.step(vector, gradient.clone(), rate._asdict())
    return vector


def slow_adam(rates: list[Rates], beta2: float, eps: float) -> Vector:
    weights, first, second = START.double().numpy().copy(), np.zeros(SIZE), np.zeros(SIZE)
    for step, (gradient, (rate, beta1)) in enumerate(zip(GRADIENTS, rates, strict=True), 1):
        slope = gradient.double().numpy()
        first = beta1 * first + (1 - beta1) * slope
        second = beta2 * second + (1 - beta2) * slope**2
        mean, square = first / (1 - beta1**step), second / (1 - beta2**step)
        weights = weights - rate * mean / (np.sqrt(square) + eps)
    return weights


def slow_rmsprop(rates: list[Rates], decay: float, eps: float, *, inside: bool) -> Vector:
    weights, square = START.double().numpy().copy(), np.zeros(SIZE)
    for gradient, (rate, _) in zip(GRADIENTS, rates, strict=True):
        slope = gradient.double().numpy()
        square = decay * square + (1 - decay) * slope**2
        root = np.sqrt(square + eps) if inside else np.sqrt(square) + eps
        weights = weights - rate * slope / root
    return weights


def test_adam_is_the_papers_with_rates_of_each_step() -> None:
    got = taken(Adam(START, beta2=0.99, eps=1e-3), RATES)
    np.testing.assert_allclose(got.numpy(), slow_adam(RATES, 0.99, 1e-3), rtol=2e-5, atol=2e-6)
    other = slow_adam([rate._replace(adam_beta1=0.9) for rate in RATES], 0.99, 1e-3)
    assert np.abs(got.numpy() - other).max() > 1e-3


@pytest.mark.parametrize("inside", [False, True])
def test_rmsprop_has_epsilon_where_it_is_told(inside: bool) -> None:
    got = taken(RMSProp(START, decay=0.9, eps=1e-3, eps_inside=inside), RATES)
    expected = slow_rmsprop(RATES, 0.9, 1e-3, inside=inside)
    np.testing.assert_allclose(got.numpy(), expected, rtol=2e-5, atol=2e-6)
    assert np.abs(got.numpy() - slow_rmsprop(RATES, 0.9, 1e-3, inside=not inside)).max() > 1e-3


def torchs(kind: str, parameter: nn.Parameter) -> torch.optim.Optimizer:
    if kind == "adam":
        return torch.optim.Adam([parameter], 1e-3, (0.9, 0.99), 1e-5, fused=True)
    return torch.optim.RMSprop([parameter], 1e-3, 0.9, 1e-5)


@pytest.mark.parametrize("kind", ["adam", "rmsprop"])
def test_torch_takes_the_same_steps(kind: str) -> None:
    parameter = nn.Parameter(START.clone())
    oracle = torchs(kind, parameter)
    for gradient in GRADIENTS:
        parameter.grad = gradient.clone()
        oracle.step()
    config = one_pass(
        optimizer=kind, adam_beta2=0.99, adam_eps=1e-5, rmsprop_decay=0.9, rmsprop_eps=1e-5
    )
    got = taken(new_optimizer(config, START), [Rates(1e-3, 0.9)] * STEPS)
    if kind == "adam":
        assert torch.equal(got, parameter.detach()), "bit for bit"
    torch.testing.assert_close(got, parameter.detach(), rtol=1e-6, atol=1e-6)


def test_the_model_sees_another_vector_within_and_its_own_afterwards() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    parameters, seen = FlatParameters(model), torch.ones(5, 3)
    own, others = model(seen).detach(), torch.full_like(parameters.vector, 0.5)
    with parameters.at(others):
        assert torch.equal(model(seen).detach(), torch.full((5, 2), 0.5 + 4 * 0.5 * 2.0))
    assert torch.equal(model(seen).detach(), own)
    parameters.vector.zero_()
    assert not model(seen).any(), "views of its vector again"


@pytest.mark.parametrize("core", ["none", *MEMORIES])
def test_a_gradient_at_other_parameters_is_that_of_a_learner_that_has_them(
    make_bench: Make, weights_of: Weights, core: str
) -> None:
    bench = make_bench()
    bench.model_config = bench.model_config.model_copy(update=memory(core, 8))
    mine, other = bench.learner(seed=0), bench.learner(seed=1)
    batch, before = bench.batch(other.model), weights_of(mine)
    expected, weight = other.gradients(batch)
    got, same_weight = mine.gradients(batch, at=other.parameters.vector)
    assert torch.equal(got, expected) and weight == same_weight
    assert torch.equal(weights_of(mine), before) and torch.equal(mine.parameters.vector, before)
    assert not torch.equal(mine.gradients(batch)[0], expected)
    # It is applied to the present parameters, by the formula of the slow twin's first step.
    norm = mine.apply(got.clone(), weight)
    clipped = got / weight * min(1.0, bench.config.max_grad_norm / (norm + 1e-6))
    step = bench.config.learning_rate * clipped / (clipped.abs() + bench.config.adam_eps)
    torch.testing.assert_close(weights_of(mine), before - step, rtol=1e-5, atol=1e-6)


def test_a_delayed_gradient_does_not_depend_on_the_moments(make_bench: Make) -> None:
    bench = make_bench()
    learner = bench.learner()
    batch, early = bench.batch(learner.model), learner.parameters.vector.clone()
    expected, _ = learner.gradients(batch)
    for seed in range(3):
        learner.update(bench.batch(learner.model, seed=seed))
    assert not torch.equal(learner.parameters.vector, early)
    assert torch.equal(learner.gradients(batch, at=early)[0], expected)


def test_a_learner_of_rmsprop_goes_on_bit_for_bit_and_copies_its_moments(make_bench: Make) -> None:
    bench = make_bench(config=one_pass(optimizer="rmsprop", learning_rate=1e-2))
    one, two = bench.learner(seed=0), bench.learner(seed=1)
    batch = bench.batch(one.model)
    one.update(batch)
    assert {name for name in one.state() if name.startswith(("adam.", "rmsprop."))} == {
        "rmsprop.square_avg"
    }
    two.copy_from(one.state())
    one.update(batch)
    two.update(batch)
    assert torch.equal(one.parameters.vector, two.parameters.vector)
    assert one.values_used()["learning_rate"] == 1e-2


def test_moments_of_another_optimiser_are_refused(make_bench: Make) -> None:
    ours = make_bench(config=one_pass(optimizer="rmsprop")).learner()
    with pytest.raises(SnapshotError, match=r"rmsprop\.square_avg|adam\.exp_avg"):
        ours.load_state(make_bench().learner().state())
