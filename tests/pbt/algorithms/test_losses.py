"""Losses equal loops over steps in float64 and float32, their gradients equal the textbook's.

Poison outside the valid steps changes neither.
"""

import numpy as np
import pytest
import torch
from torch import Tensor

from pbt.algorithms.losses import (
    clipped_value_loss,
    entropy_sum,
    moment_sums,
    moments,
    normalized,
    policy_gradient_loss,
    ppo_clip_loss,
    value_loss,
)


def case(seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 8)), int(rng.integers(1, 5)))
    numbers = (torch.from_numpy(rng.normal(0, scale, shape)).to(dtype) for scale in (0.4, 1.0))
    first, second = numbers
    valid = torch.from_numpy(rng.random(shape) < 0.7)
    return first, second, valid


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_equal_loops_over_the_steps(dtype: torch.dtype, tolerance: float) -> None:
    for seed in range(200):
        a, b, valid = case(seed, dtype)
        clip = 1.0 + np.random.default_rng(seed).uniform(0.05, 0.5)
        ppo = plain = squares = total = 0.0
        for t in range(a.shape[0]):
            for k in range(a.shape[1]):
                if valid[t, k]:
                    x, y = float(a[t, k]), float(b[t, k])
                    ratio = np.exp(x)
                    ppo -= min(ratio * y, min(max(ratio, 1 / clip), clip) * y)
                    plain -= x * y
                    squares += (x - y) ** 2
                    total += x
        poison = torch.where(valid, 0.0, torch.nan).to(dtype)
        found = (
            ppo_clip_loss(a + poison, b + poison, valid, clip),
            policy_gradient_loss(a + poison, b + poison, valid),
            value_loss(a + poison, b + poison, valid),
            entropy_sum(a + poison, valid),
        )
        assert [float(x) for x in found] == pytest.approx(
            [ppo, plain, squares, total], abs=tolerance
        )


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_the_clipped_value_loss_equals_a_loop_over_the_steps(
    dtype: torch.dtype, tolerance: float
) -> None:
    further = nearer = 0
    for seed in range(300):
        values, targets, valid = case(seed, dtype)
        rng = np.random.default_rng(1000 + seed)
        acted = values + torch.from_numpy(rng.normal(0, 0.3, values.shape)).to(dtype)
        clip, expected = float(rng.uniform(0.02, 0.4)), 0.0
        for t in range(values.shape[0]):
            for k in range(values.shape[1]):
                if not valid[t, k]:
                    continue
                value, target, old = (float(x[t, k]) for x in (values, targets, acted))
                near = old + min(max(value - old, -clip), clip)
                expected += max((value - target) ** 2, (near - target) ** 2)
                further += (near - target) ** 2 > (value - target) ** 2
                nearer += (near - target) ** 2 < (value - target) ** 2
        poison = torch.where(valid, 0.0, torch.nan).to(dtype)
        found = clipped_value_loss(values + poison, targets + poison, acted + poison, valid, clip)
        assert float(found) == pytest.approx(expected, abs=tolerance)
    assert further > 100 and nearer > 100, "the loop met both sides of the clip"


@pytest.mark.parametrize(
    ("value", "target", "slope"),
    [(1.1, 2.0, -1.8), (1.3, 2.0, 0.0), (1.3, 0.0, 2.6), (0.7, 0.0, 0.0), (0.7, 2.0, -2.6)],
)
def test_a_value_stops_at_the_clip_only_on_its_way_to_the_target(
    value: float, target: float, slope: float
) -> None:
    """It was 1 when acting, and may move by 0.2."""
    moved = torch.tensor([[value]], dtype=torch.float64, requires_grad=True)
    target_, acted = (torch.tensor([[x]], dtype=torch.float64) for x in (target, 1.0))
    clipped_value_loss(moved, target_, acted, torch.tensor([[True]]), 0.2).backward()
    assert moved.grad is not None
    assert float(moved.grad) == pytest.approx(slope)


@pytest.mark.parametrize(
    ("ratio", "advantage", "slope"),
    [(1.3, 1.0, 0.0), (1.3, -1.0, 1.3), (0.7, 1.0, -0.7), (0.7, -1.0, 0.0), (1.05, 2.0, -2.1)],
)
def test_ppo_stops_pushing_outside_the_clip_only_in_the_good_direction(
    ratio: float, advantage: float, slope: float
) -> None:
    log_rho = torch.tensor([[ratio]], dtype=torch.float64).log().requires_grad_()
    ppo_clip_loss(
        log_rho, torch.tensor([[advantage]], dtype=torch.float64), torch.tensor([[True]]), 1.1
    ).backward()
    assert log_rho.grad is not None
    assert float(log_rho.grad) == pytest.approx(slope)


def test_trap_nan_poison_reaches_neither_loss_nor_gradient() -> None:
    """nan times zero is nan: a mask multiplied in would let it through."""
    valid = torch.tensor([[True, False]])
    poisoned = torch.tensor([[0.5, torch.nan]])
    for loss in (
        lambda x: ppo_clip_loss(x, poisoned, valid, 1.2),
        lambda x: policy_gradient_loss(x, poisoned, valid),
        lambda x: value_loss(x, poisoned, valid),
        lambda x: clipped_value_loss(x, poisoned, poisoned, valid, 0.2),
        lambda x: entropy_sum(x, valid),
    ):
        x = poisoned.clone().requires_grad_()
        result = loss(x)
        result.backward()
        assert result.isfinite()
        assert x.grad is not None
        assert x.grad.isfinite().all()
        assert x.grad[0, 1] == 0


def test_moments_of_shards_add_up_to_those_of_the_whole() -> None:
    for seed in range(50):
        values, _, valid = case(seed, torch.float32)
        values = values + 100.0
        parts = zip(values.tensor_split(2, 1), valid.tensor_split(2, 1), strict=True)
        found = moments(
            sum((moment_sums(v, m) for v, m in parts), torch.zeros(3, dtype=torch.float64))
        )
        kept = values[valid].double()
        if len(kept):
            assert float(found.mean) == pytest.approx(float(kept.mean()), abs=1e-9)
            assert float(found.deviation) == pytest.approx(float(kept.std(correction=0)), abs=1e-5)
            scaled = normalized(values, found)[valid]
            assert abs(float(scaled.mean())) < 1e-2
        else:
            assert [float(x) for x in found] == [0.0, 0.0]
