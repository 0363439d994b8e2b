"""The shipped configs of A2C and PPO are these algorithms: the papers' formulas, step by step.

The slow twins are loops in float64 over the steps of a batch. `learner.gradients` and the weights
behind an update have to be theirs.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical

from pbt.algorithms.batch import Batch, zeroed_observations
from pbt.config.learning import LearningConfig
from pbt.config.load import load_config
from pbt.config.schema import RunConfig
from pbt.learning.learner import Learner
from tests.pbt.runtime.placing import Running

Make = Callable[..., Any]
Weights = Callable[[Learner], Tensor]
# (step, slot)
Place = tuple[int, int]
PAPERS = "learning.normalize_advantages=false"


def shipped(name: str, *changes: str) -> RunConfig:
    return load_config(f"cartpole_{name}", changes)


class Steps(NamedTuple):
    """A batch as the twins see it, in float64; [T, B], the values [T+1, B].

    log_pi   log-probabilities of the actions by the present weights, with gradient
    log_mu   the same by the weights that acted
    values   by the present weights, with gradient
    entropy  with gradient
    """

    config: LearningConfig
    batch: Batch
    log_pi: Tensor
    log_mu: Tensor
    values: Tensor
    entropy: Tensor
    rewards: Tensor

    def valid(self) -> Iterator[Place]:
        yield from map(tuple, self.batch.valid.nonzero().tolist())

    def goes_on(self, t: int, b: int) -> bool:
        """Whether the slot has another step of the same episode behind this one."""
        ended = self.batch.terminated[t, b] or t + 1 == len(self.batch.valid)
        return not ended and bool(self.batch.valid[t + 1, b])

    def value(self, t: int, b: int) -> float:
        return float(self.values[t, b].detach())

    def next_value(self, t: int, b: int) -> float:
        return 0.0 if self.batch.terminated[t, b] else self.value(t + 1, b)


def steps_of(learner: Learner, batch: Batch, heads: list[int]) -> Steps:
    logits, values = learner.model.unroll(
        zeroed_observations(batch), batch.mask, batch.episode_start, batch.initial_state
    )
    actions = torch.where(batch.valid.unsqueeze(-1), batch.actions, 0)
    acting = [Categorical(logits=part.double()) for part in logits[:-1].split(heads, -1)]
    chosen = zip(acting, actions.unbind(-1), strict=True)
    return Steps(
        learner.config,
        batch,
        torch.stack([head.log_prob(action) for head, action in chosen]).sum(0),
        batch.acted["log_prob"].double(),
        values.double(),
        torch.stack([head.entropy() for head in acting]).sum(0),
        batch.rewards.double() @ learner._shaping.double(),
    )


def scaled(advantages: Mapping[Place, float], config: LearningConfig) -> Mapping[Place, float]:
    """The advantages with mean 0 and deviation 1, if the config says so."""
    if not config.normalize_advantages:
        return advantages
    mean, deviation = np.mean([*advantages.values()]), np.std([*advantages.values()])
    return {place: (one - mean) / (deviation + 1e-5) for place, one in advantages.items()}


def slow_a2c(steps: Steps) -> Tensor:
    """Mnih et al. 2016, section 4: n-step returns R, the loss -log pi (R - V) + (R - V)^2 ..."""
    config, total = steps.config, torch.zeros((), dtype=torch.float64)

    def returned(t: int, b: int) -> float:
        after = returned(t + 1, b) if steps.goes_on(t, b) else steps.next_value(t, b)
        return float(steps.rewards[t, b]) + config.gamma * after

    errors = {(t, b): returned(t, b) - steps.values[t, b] for t, b in steps.valid()}
    advantages = scaled({place: float(error.detach()) for place, error in errors.items()}, config)
    for (t, b), error in errors.items():
        policy = -steps.log_pi[t, b] * advantages[t, b]
        bonus = config.entropy_coef * steps.entropy[t, b]
        total = total + policy + config.value_coef * error**2 - bonus
    return total


def slow_ppo(steps: Steps) -> Tensor:
    """Schulman et al. 2017, equations 7, 9 and 11."""
    config, total = steps.config, torch.zeros((), dtype=torch.float64)

    def advantage(t: int, b: int) -> float:
        after = config.gamma * steps.next_value(t, b)
        delta = float(steps.rewards[t, b]) + after - steps.value(t, b)
        later = advantage(t + 1, b) if steps.goes_on(t, b) else 0.0
        return delta + config.gamma * config.gae_lambda * later

    found = {(t, b): advantage(t, b) for t, b in steps.valid()}
    advantages = scaled(found, config)
    for (t, b), gained in found.items():
        ratio = (steps.log_pi[t, b] - steps.log_mu[t, b]).exp()
        clipped = ratio.clamp(1 / config.ratio_clip, config.ratio_clip)
        surrogate = torch.minimum(ratio * advantages[t, b], clipped * advantages[t, b])
        error = steps.values[t, b] - (gained + steps.value(t, b))
        bonus = config.entropy_coef * steps.entropy[t, b]
        total = total - surrogate + config.value_coef * error**2 - bonus
    return total


TWINS = {"a2c": slow_a2c, "ppo": slow_ppo}


def apart(make_bench: Make, name: str, *words: str, **changes: Any) -> float:
    """How far the gradient is from the twin's, beside its size.

    PPO's rows were acted by other weights, as they are from its second step on.
    words    what is set beside the shipped file
    changes  of the learner's settings, of which the twin hears nothing
    """
    config = shipped(name, *words).learning
    bench = make_bench(config=config.model_copy(update=changes))
    learner = bench.learner()
    batch = bench.batch(bench.model(1) if name == "ppo" else learner.model, slots=16)
    steps = steps_of(learner, batch, list(bench.heads))._replace(config=config)
    parameters = list(learner.model.parameters())
    slopes = torch.autograd.grad(TWINS[name](steps), parameters)
    expected = torch.cat([slope.flatten() for slope in slopes])
    got, _ = learner.gradients(batch)
    return float((got - expected).norm() / expected.norm())


@pytest.mark.parametrize("words", [("a2c",), ("a2c", PAPERS), ("ppo",)], ids=" ".join)
def test_the_gradient_is_that_of_the_paper(make_bench: Make, words: tuple[str, ...]) -> None:
    """A2C's file scales advantages, which the paper does not."""
    assert apart(make_bench, *words) < 1e-4


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("a2c", {"gae_lambda": 0.9}),
        ("a2c", {"normalize_advantages": False}),
        ("a2c", {"value_coef": 1.0}),
        ("a2c", {"gamma": 0.9}),
        ("ppo", {"vtrace": True}),
        ("ppo", {"ppo_clip": False}),
        ("ppo", {"ratio_clip": 1.05}),
        ("ppo", {"gae_lambda": 1.0}),
        ("ppo", {"normalize_advantages": False}),
    ],
    ids=str,
)
def test_trap_any_other_setting_is_another_formula(
    make_bench: Make, name: str, changes: dict[str, Any]
) -> None:
    assert apart(make_bench, name, **changes) > 1e-2


def test_an_update_of_a2c_is_one_step_of_rmsprop(make_bench: Make, weights_of: Weights) -> None:
    bench = make_bench(config=shipped("a2c").learning)
    learner, config = bench.learner(), bench.config
    square = np.zeros(len(learner.parameters.vector))
    for seed in range(3):
        batch, before = bench.batch(learner.model, seed=seed), weights_of(learner).double().numpy()
        gradient, weight = learner.gradients(batch)
        slope = gradient.double().numpy() / weight
        slope *= min(1.0, config.max_grad_norm / np.linalg.norm(slope))
        square = 0.99 * square + 0.01 * slope**2
        learner.update(batch)
        after = before - config.learning_rate * slope / (np.sqrt(square) + 1e-5)
        np.testing.assert_allclose(weights_of(learner).numpy(), after, rtol=1e-5, atol=1e-6)


def test_an_update_of_ppo_is_a_step_for_each_part_of_each_pass(make_bench: Make) -> None:
    bench = make_bench(config=shipped("ppo").learning)
    learner = bench.learner()
    learner.update(bench.batch(learner.model, slots=16))
    assert learner.state()["adam.step"] == bench.config.epochs * bench.config.minibatches == 80


@pytest.mark.parametrize(("name", "updates"), [("a2c", 20), ("ppo", 2)])
def test_a_run_trains_every_row_by_the_weights_that_acted(
    name: str, updates: int, tmp_path: Path
) -> None:
    """So the ratio of A2C's only step, and of PPO's first one, is 1."""
    frames = updates * shipped(name).learning.batch_steps
    words = ("runtime.placement=serial", f"stop_at_frames={frames}", "evaluation.final_games=0")
    with Running(shipped(name, *words), tmp_path).start() as run:
        run.finish()
    values = [values for _, _, values in run.sink.points]
    assert len(values) == updates and {one["lag_max"] for one in values} == {0}
    if name == "a2c":
        assert all(abs(one["kl"]) < 1e-6 and one["clip_fraction"] == 0 for one in values)
    else:
        assert all(one["kl"] > 1e-4 for one in values)
