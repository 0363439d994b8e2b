"""Numbers of an action against scipy's normal distribution, alone and beside choices."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from scipy.stats import norm
from torch.distributions import Normal, kl_divergence

from pbt.config.learning import ModelConfig
from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Role
from pbt.models.distributions import distribution, joint_log_prob, log_probabilities, masked_outputs
from pbt.models.policy_model import build_model
from pbt.transport.slab import role_layout

BOX = ActionSpec.of(spaces.Box(-1.0, 1.0, (3,)))
MIXED = ActionSpec.of(spaces.Tuple((spaces.Box(-1.0, 1.0, (3,)), spaces.MultiDiscrete([3, 2]))))
LOG_DEVIATIONS = torch.tensor([-1.5, 0.0, 0.75])
ROWS = 64


def outputs_of(spec: ActionSpec, *lead: int) -> torch.Tensor:
    return 2.0 * torch.randn(*lead, spec.outputs, generator=torch.Generator().manual_seed(0))


def uniforms_of(spec: ActionSpec, *lead: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(1)
    return torch.rand(*lead, spec.width, generator=rng, dtype=torch.float64)


def test_numbers_are_those_of_a_normal_distribution() -> None:
    outputs, uniforms = outputs_of(BOX, ROWS), uniforms_of(BOX, ROWS)
    chance = distribution(BOX, outputs, LOG_DEVIATIONS)
    deviations = LOG_DEVIATIONS.double().exp().numpy()
    twin = norm(outputs.double().numpy(), deviations)
    actions = chance.sample(uniforms)
    assert actions.dtype == torch.float32
    np.testing.assert_allclose(actions.numpy(), twin.ppf(uniforms.numpy()), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        chance.log_prob(actions).numpy(),
        twin.logpdf(actions.double().numpy()).sum(-1),
        rtol=1e-5,
        atol=1e-5,
    )
    np.testing.assert_allclose(chance.entropy().numpy(), twin.entropy().sum(-1), rtol=1e-6)
    wider, moved = LOG_DEVIATIONS + 0.3, outputs + 0.2
    apart = kl_divergence(Normal(outputs, LOG_DEVIATIONS.exp()), Normal(moved, wider.exp())).sum(-1)
    torch.testing.assert_close(chance.divergence(distribution(BOX, moved, wider)), apart)
    assert torch.equal(chance.mode(), outputs)


def test_a_mixed_action_is_the_product_of_its_parts() -> None:
    outputs, uniforms = outputs_of(MIXED, 4, ROWS), uniforms_of(MIXED, 4, ROWS)
    rng = torch.Generator().manual_seed(2)
    mask = torch.rand(4, ROWS, MIXED.mask_size, generator=rng) < 0.6
    read = masked_outputs(MIXED, outputs, mask)
    assert torch.equal(read[..., 5:], outputs[..., 5:])
    chance = distribution(MIXED, read, LOG_DEVIATIONS)
    choices = ActionSpec.of(spaces.MultiDiscrete([3, 2]))
    only_choices = distribution(choices, read[..., :5])
    only_numbers = distribution(BOX, read[..., 5:], LOG_DEVIATIONS)
    actions = chance.sample(uniforms)
    assert (actions.shape, actions.dtype) == ((4, ROWS, 5), torch.float32)
    drawn, numbers = actions[..., :2].long(), actions[..., 2:]
    assert torch.equal(drawn, only_choices.sample(uniforms[..., :2]))
    assert torch.equal(numbers, only_numbers.sample(uniforms[..., 2:]))
    log_probs = log_probabilities(read[..., :5], (3, 2))
    expected = joint_log_prob(log_probs, drawn, (3, 2)) + only_numbers.log_prob(numbers)
    assert torch.equal(chance.log_prob(actions), expected)
    assert torch.equal(chance.entropy(), only_choices.entropy() + only_numbers.entropy())
    assert torch.equal(chance.mode()[..., :2].long(), only_choices.mode())


@pytest.mark.parametrize("uniform", [0.0, 2.0**-53, 0.5, 1.0 - 2.0**-53])
def test_every_uniform_gives_a_finite_number(uniform: float) -> None:
    chance = distribution(BOX, torch.zeros(1, 3), torch.zeros(3))
    drawn = chance.sample(torch.full((1, 3), uniform, dtype=torch.float64))
    assert drawn.isfinite().all() and chance.log_prob(drawn).isfinite().all()
    assert (drawn.abs() < 9.0).all() and (uniform != 0.5 or not drawn.any())


def test_gradients_are_those_of_the_twin() -> None:
    outputs = outputs_of(BOX, ROWS).requires_grad_()
    log_deviations = LOG_DEVIATIONS.clone().requires_grad_()
    actions = outputs_of(BOX, ROWS) + 0.3
    chance = distribution(BOX, outputs, log_deviations)
    (chance.log_prob(actions).sum() + 0.1 * chance.entropy().sum()).backward()
    away, deviations = (actions - outputs).detach(), LOG_DEVIATIONS.exp()
    assert outputs.grad is not None and log_deviations.grad is not None
    torch.testing.assert_close(outputs.grad, away / deviations.square())
    expected = (away.square() / deviations.square() - 1.0).sum(0) + 0.1 * ROWS
    torch.testing.assert_close(log_deviations.grad, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("space", "rows", "own"),
    [(spaces.Discrete(7), 8, False), (spaces.Box(-1.0, 1.0, (3,)), 4, True)],
)
def test_only_models_of_numbers_have_deviations(
    space: gymnasium.Space[object], rows: int, own: bool
) -> None:
    seen = spaces.Box(-1.0, 1.0, (2,))
    layout = role_layout(Role("player", seen, space), ("reward",), 4, 0)
    state = build_model(layout, ModelConfig(hidden=(8,)), 0).state_dict()
    assert state["heads.weight"].shape == (rows, 8)
    assert ("log_deviations" in state) == own
    assert not own or not state["log_deviations"].any()
