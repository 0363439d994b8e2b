"""Learning one round behind: equation 6 of HTS-RL, against a twin of a linear network in numpy."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from pbt.algorithms.batch import Batch
from pbt.config.learning import LearningConfig, ModelConfig
from pbt.errors import EngineError
from pbt.learning.learner import Learner
from tests.pbt.learning.conftest import Bench
from tests.pbt.learning.one_pass import one_pass

Floats = NDArray[np.float64]
ROUNDS = 50
# Fractions of 2, since discounts are float32.
GAMMA, LAMBDA, VALUE, ENTROPY = 0.9375, 0.75, 0.5, 0.02
CLIP, RATE, DECAY, EPS = 0.3, 7e-3, 0.99, 1e-5


def a2c() -> LearningConfig:
    return one_pass(
        gamma=GAMMA,
        gae_lambda=LAMBDA,
        vtrace=False,
        ppo_clip=False,
        normalize_advantages=False,
        value_coef=VALUE,
        entropy_coef=ENTROPY,
        max_grad_norm=CLIP,
        learning_rate=RATE,
        optimizer="rmsprop",
        adam_beta1=0.0,
        rmsprop_decay=DECAY,
        rmsprop_eps=EPS,
    )


LINEAR = ModelConfig(hidden=(), normalize_observations=False)


def bench_of(**changes: object) -> Bench:
    kind: dict[str, object] = {"heads": (3,), "terms": ("score",), "end": 0.2, "cut": 0.0}
    return Bench(config=a2c(), model_config=LINEAR, **{**kind, **changes})  # type: ignore[arg-type]


def delayed(bench: Bench) -> Learner:
    """A learner in float64 that takes gradients at the weights that acted."""
    model = bench.model(3).double()
    # Features are float32, which is enough for observations.
    said = model._said
    model._said = lambda features: said(features.double())  # type: ignore[method-assign]
    known = model, bench.config, bench.hyperparams(), bench.terms
    return Learner(*known, key=(1, "m0"), delayed=True)


def batch_at(bench: Bench, learner: Learner, number: int, version: int) -> Batch:
    """The rows of round `number` as those weights acted them, in float64, without masks."""
    batch = bench.batch(bench.model(3), seed=number, version=version)
    observations = {name: leaf.double() for name, leaf in batch.observations.items()}
    rewards, mask = batch.rewards.double(), torch.ones_like(batch.mask)
    batch = replace(batch, observations=observations, rewards=rewards, mask=mask)
    with torch.no_grad(), learner._acting(batch):
        log_prob = learner.algorithm.recomputed(learner.model, batch)
    return replace(batch, acted=batch.acted | {"log_prob": log_prob})


# --- the twin -------------------------------------------------------------------------------------


def gradient(weights: Floats, batch: Batch, scale: float) -> Floats:
    """Of A2C's loss by the rows of [logits, value] = weights @ [observation, 1], summed."""
    seen = np.nan_to_num(batch.observations["observation"].numpy())
    seen = np.concatenate([seen, np.ones((*seen.shape[:2], 1))], -1)
    out = seen @ weights.T
    total, steps = np.zeros_like(weights), batch.valid.shape[0]
    for b in range(batch.slots):
        advantage = 0.0
        for t in reversed(range(steps)):
            going = 0.0 if batch.terminated[t, b] else GAMMA
            reward = scale * float(batch.rewards[t, b, 0])
            behind = going * out[t + 1, b, -1] if going else 0.0
            advantage = reward + behind - out[t, b, -1] + going * LAMBDA * advantage
            chances = np.exp(out[t, b, :-1] - out[t, b, :-1].max())
            chances /= chances.sum()
            chosen = np.eye(len(chances))[int(batch.actions[t, b, 0])]
            entropy = -(chances * np.log(chances)).sum()
            by_logits = advantage * (chances - chosen)
            by_logits += ENTROPY * chances * (np.log(chances) + entropy)
            total += np.outer([*by_logits, -2.0 * VALUE * advantage], seen[t, b])
    return total / int(batch.valid.sum())


class Twin:
    """Equation 6: the gradient at `weights[at]`, 0 the newest, is applied to the newest."""

    def __init__(self, weights: Floats) -> None:
        self.weights, self.squares = [weights] * 3, np.zeros_like(weights)

    def round(self, batch: Batch, scale: float, at: int) -> None:
        slope = gradient(self.weights[-1 - at], batch, scale)
        slope *= min(1.0, CLIP / (np.linalg.norm(slope) + 1e-6))
        self.squares = DECAY * self.squares + (1 - DECAY) * slope**2
        self.weights.append(self.weights[-1] - RATE * slope / (np.sqrt(self.squares) + EPS))


def linear(learner: Learner) -> Floats:
    heads = learner.model.heads
    both = torch.cat([heads.weight, heads.bias[:, None]], 1)
    return both.detach().double().numpy().copy()


def distance(at: int, lag: int = 1) -> float:
    """How far learner and twin are apart after ROUNDS rounds. at, lag: 1 where they are right."""
    bench = bench_of()
    learner = delayed(bench)
    twin, scale = Twin(linear(learner)), bench.config.reward_scale * 0.5
    for number in range(ROUNDS):
        version = max(0, learner.version - lag)
        batch = batch_at(bench, learner, number, version)
        twin.round(batch, scale, at)
        learner.update(batch)
    return float(np.abs(linear(learner) - twin.weights[-1]).max())


def test_the_gradient_at_the_weights_that_acted_is_applied_to_the_newest() -> None:
    assert distance(at=1) < 1e-9


@pytest.mark.parametrize(("at", "lag"), [(0, 1), (2, 1), (1, 0)])
def test_gradients_at_other_weights_are_told_apart(at: int, lag: int) -> None:
    assert distance(at, lag) > 1e-6


def test_rows_of_more_than_one_version_or_older_ones_are_refused() -> None:
    bench = bench_of()
    learner = delayed(bench)
    for number in range(3):
        learner.update(batch_at(bench, learner, number, learner.version))
    with pytest.raises(EngineError, match=r"rows of versions \[1\] came to version 3"):
        learner.update(batch_at(bench, learner, 9, 1))
    mixed = batch_at(bench, learner, 9, 3)
    mixed.version[0] = 2
    with pytest.raises(EngineError, match=r"rows of versions \[2, 3\]"):
        learner.update(mixed)


def test_it_goes_on_from_its_state() -> None:
    """With statistics of observations and of returns, which the weights before have as well."""
    config = one_pass(learning_rate=1e-2, normalize_returns=True)
    model = ModelConfig(hidden=(8,), normalize_observations=True)
    bench = Bench(config=config, model_config=model)

    def new() -> Learner:
        return Learner(
            bench.model(1), config, bench.hyperparams(), bench.terms, key=(1, "m0"), delayed=True
        )

    def train(learner: Learner, rounds: range) -> None:
        for number in rounds:
            version = max(0, learner.version - 1)
            learner.update(bench.batch(bench.model(1), seed=number, version=version))

    whole, first, second = new(), new(), new()
    train(whole, range(6))
    train(first, range(3))
    second.load_state(first.state())
    train(second, range(3, 6))
    for name, tensor in whole.state().items():
        assert torch.equal(tensor, second.state()[name]), name
