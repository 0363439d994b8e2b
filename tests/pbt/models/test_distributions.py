"""Several categorical heads against torch.distributions, head by head."""

import numpy as np
import pytest
import torch
from torch.distributions import Categorical

from pbt.models.distributions import (
    MASKED_LOGIT,
    greedy,
    joint_entropy,
    joint_log_prob,
    log_probabilities,
    masked_logits,
    sample,
)

SIZES = [(4,), (3, 2), (2, 5, 1, 3)]


def random_case(
    seed: int, sizes: tuple[int, ...], rows: int = 7
) -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(rows, sum(sizes), generator=rng)
    mask = torch.rand(rows, sum(sizes), generator=rng) < 0.6
    for part in mask.split(list(sizes), -1):
        part[torch.arange(rows), torch.randint(part.shape[1], (rows,), generator=rng)] = True
    return logits, mask


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", range(20))
def test_joint_log_prob_and_entropy_are_sums_over_heads(sizes: tuple[int, ...], seed: int) -> None:
    logits, mask = random_case(seed, sizes)
    log_probs = log_probabilities(masked_logits(logits, mask, sizes), sizes)
    heads = [
        Categorical(logits=part.masked_fill(~legal, -torch.inf).double())
        for part, legal in zip(
            logits.split(list(sizes), -1), mask.split(list(sizes), -1), strict=True
        )
    ]
    actions = torch.stack([head.sample() for head in heads], -1)
    expected = sum(head.log_prob(actions[:, i]) for i, head in enumerate(heads))
    torch.testing.assert_close(
        joint_log_prob(log_probs, actions, sizes).double(), expected, atol=1e-5, rtol=1e-5
    )
    entropies = torch.zeros(len(logits), dtype=torch.float64)
    for head in heads:
        entropies -= torch.where(head.probs > 0, head.probs * head.probs.log(), 0.0).sum(-1)
    torch.testing.assert_close(joint_entropy(log_probs).double(), entropies, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("size", [1e9, 3e37, float("inf")])
def test_an_illegal_action_is_never_drawn_whatever_the_legal_logits(
    sizes: tuple[int, ...], size: float
) -> None:
    logits, mask = random_case(1, sizes)
    log_probs = log_probabilities(masked_logits(torch.full_like(logits, -size), mask, sizes), sizes)
    for uniform in (0.0, 0.5, 1.0 - 2.0**-53):
        uniforms = torch.full((len(logits), len(sizes)), uniform, dtype=torch.float64)
        for actions in (sample(log_probs, uniforms, sizes), greedy(log_probs, sizes)):
            for part, action in zip(mask.split(list(sizes), -1), actions.T, strict=True):
                assert part.gather(-1, action.unsqueeze(-1)).all()


@pytest.mark.parametrize("sizes", SIZES)
def test_leading_dimensions_do_not_matter(sizes: tuple[int, ...]) -> None:
    logits, mask = random_case(0, sizes, rows=6)
    flat = masked_logits(logits, mask, sizes)
    shaped = masked_logits(logits.view(2, 3, -1), mask.view(2, 3, -1), sizes)
    assert torch.equal(shaped.view(6, -1), flat)
    actions = greedy(log_probabilities(flat, sizes), sizes)
    one = joint_log_prob(log_probabilities(flat, sizes), actions, sizes)
    two = joint_log_prob(log_probabilities(shaped, sizes), actions.view(2, 3, -1), sizes)
    assert torch.equal(one, two.flatten())


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("uniform", [0.0, 0.25, 0.999999, 1.0 - 2.0**-53, 1.0])
def test_masked_actions_are_never_drawn(sizes: tuple[int, ...], uniform: float) -> None:
    for seed in range(30):
        logits, mask = random_case(seed, sizes, rows=20)
        log_probs = log_probabilities(masked_logits(logits, mask, sizes), sizes)
        for actions in (
            sample(log_probs, torch.full((20, len(sizes)), uniform, dtype=torch.float64), sizes),
            greedy(log_probs, sizes),
        ):
            for head, legal in enumerate(mask.split(list(sizes), -1)):
                assert legal.gather(1, actions[:, head : head + 1]).all()


def test_sampling_inverts_the_cumulative_distribution() -> None:
    probabilities = torch.tensor([[0.1, 0.0, 0.6, 0.3]])
    log_probs = log_probabilities(
        masked_logits(probabilities.clamp(min=1e-30).log(), probabilities > 0, (4,)), (4,)
    )
    uniforms = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    drawn = sample(log_probs.expand(1000, -1), uniforms.unsqueeze(-1), (4,)).squeeze(-1)
    assert drawn.bincount(minlength=4).tolist() == [100, 0, 600, 300]
    assert (drawn.diff() >= 0).all()


def test_heads_are_drawn_from_their_own_uniform() -> None:
    log_probs = log_probabilities(torch.zeros(1, 5), (3, 2))
    assert sample(log_probs, torch.tensor([[0.9, 0.1]], dtype=torch.float64), (3, 2)).tolist() == [
        [2, 0]
    ]
    assert sample(log_probs, torch.tensor([[0.1, 0.9]], dtype=torch.float64), (3, 2)).tolist() == [
        [0, 1]
    ]


@pytest.mark.parametrize("sizes", SIZES)
def test_trap_all_zero_mask_gives_no_nan(sizes: tuple[int, ...]) -> None:
    logits = torch.randn(5, sum(sizes), generator=torch.Generator().manual_seed(1)).requires_grad_()
    mask = torch.zeros(5, sum(sizes), dtype=torch.bool)
    log_probs = log_probabilities(masked_logits(logits, mask, sizes), sizes)
    torch.testing.assert_close(log_probs, log_probabilities(logits, sizes))
    (
        joint_entropy(log_probs).sum()
        + joint_log_prob(log_probs, greedy(log_probs, sizes), sizes).sum()
    ).backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_masked_logits_get_no_gradient_and_the_fill_is_finite() -> None:
    logits = torch.tensor([[1.0, 50.0, -3.0]], requires_grad=True)
    mask = torch.tensor([[True, False, True]])
    log_probs = log_probabilities(masked_logits(logits, mask, (3,)), (3,))
    assert log_probs.isfinite().all()
    assert log_probs[0, 1].exp() == 0
    joint_entropy(log_probs).sum().backward()
    assert logits.grad is not None
    assert logits.grad[0, 1] == 0
    assert logits.grad.isfinite().all()
    assert np.isfinite(np.float32(MASKED_LOGIT))
