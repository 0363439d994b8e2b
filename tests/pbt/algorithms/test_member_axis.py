"""The formulas take a leading axis of members, by `torch.vmap`."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pbt.algorithms import losses
from pbt.algorithms.dqn import action_values
from pbt.algorithms.vtrace import gae, vtrace

MEMBERS, ROWS, SLOTS, CHOICES = 3, 6, 4, 5


def numbers(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


A, B, C = (numbers(seed, MEMBERS, ROWS, SLOTS) for seed in (1, 2, 3))
VALID = numbers(4, MEMBERS, ROWS, SLOTS) > -0.5
DISCOUNTS = 0.9 * (numbers(5, MEMBERS, ROWS, SLOTS) > -1.0)
LAST = numbers(6, MEMBERS, SLOTS)
LOGITS = numbers(7, MEMBERS, ROWS, SLOTS, CHOICES)
MASK = numbers(8, MEMBERS, ROWS, SLOTS, CHOICES) > 0.0


def normalized(values: Tensor, valid: Tensor) -> Tensor:
    return losses.normalized(values, losses.moments(losses.moment_sums(values, valid)))


FORMULAS: dict[str, tuple[Callable[..., Tensor | tuple[Tensor, ...]], tuple[Tensor, ...]]] = {
    "ppo_clip_loss": (lambda a, b, valid: losses.ppo_clip_loss(a, b, valid, 1.2), (A, B, VALID)),
    "policy_gradient_loss": (losses.policy_gradient_loss, (A, B, VALID)),
    "value_loss": (losses.value_loss, (A, B, VALID)),
    "clipped_value_loss": (
        lambda a, b, c, valid: losses.clipped_value_loss(a, b, c, valid, 0.2),
        (A, B, C, VALID),
    ),
    "entropy_sum": (losses.entropy_sum, (A, VALID)),
    "normalized": (normalized, (A, VALID)),
    "vtrace": (
        lambda log_rhos, discounts, rewards, values, last: vtrace(
            log_rhos, discounts, rewards, values, last, lam=0.95
        ),
        (0.3 * A, DISCOUNTS, B, C, LAST),
    ),
    "gae": (
        lambda discounts, rewards, values, last: gae(discounts, rewards, values, last, lam=0.95),
        (DISCOUNTS, B, C, LAST),
    ),
    "action_values": (action_values, (LOGITS, A, MASK)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_stack_of_members_gives_each_what_it_gets_alone(name: str) -> None:
    formula, arguments = FORMULAS[name]
    stacked = torch.vmap(formula)(*arguments)
    for member in range(MEMBERS):
        alone = formula(*(argument[member] for argument in arguments))
        parts = (alone,) if isinstance(alone, Tensor) else alone
        together = (stacked,) if isinstance(stacked, Tensor) else stacked
        for part, of_all in zip(parts, together, strict=True):
            torch.testing.assert_close(of_all[member], part, rtol=1e-12, atol=1e-12)
