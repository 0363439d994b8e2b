"""Value targets and advantages of rollouts, by V-trace or by GAE.

All functions are pure. Tensors are [T, B], time first, and keep their dtype.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Targets(NamedTuple):
    """What the losses aim at, each [T, B].

    vs          value targets
    advantages  `td` times the clipped importance weight rho_t, for the plain policy gradient
    td          r_t + discount_t * vs_{t+1} - V_t, the advantage without importance weight, for a
                surrogate whose ratio is the weight
    """

    vs: Tensor
    advantages: Tensor
    td: Tensor


def vtrace(
    log_rhos: Tensor,
    discounts: Tensor,
    rewards: Tensor,
    values: Tensor,
    bootstrap_value: Tensor,
    *,
    rho_clip: float = 1.0,
    c_clip: float = 1.0,
    lam: float = 1.0,
) -> Targets:
    """V-trace (Espeholt et al. 2018, "IMPALA", equation 1; lambda as in their remark 2).

        vs_t = V_t + sum_{k>=t} (prod_{i=t}^{k-1} discount_i c_i) rho_k delta_k
        delta_k = r_k + discount_k V_{k+1} - V_k
        rho = min(rho_clip, pi/mu),  c = lam * min(c_clip, pi/mu)

    log_rhos         [T, B], log(pi/mu) of the whole action
    discounts        [T, B], 0 where the step terminated
    rewards          [T, B]
    values           [T, B]
    bootstrap_value  [B], V_T

    A value behind a discount of 0 is not read and may be nan.
    """
    ratios = log_rhos.exp()
    rhos, cs = ratios.clamp(max=rho_clip), lam * ratios.clamp(max=c_clip)
    deltas = rhos * _td(discounts, rewards, values, bootstrap_value)
    vs = values + _backward_sum(deltas, discounts * cs)
    td = _td(discounts, rewards, values, bootstrap_value, vs)
    return Targets(vs, rhos * td, td)


def gae(
    discounts: Tensor, rewards: Tensor, values: Tensor, bootstrap_value: Tensor, *, lam: float
) -> Targets:
    """Generalised advantage estimation (Schulman et al. 2016, equation 16).

        advantage_t = sum_l (discount * lam)^l delta_{t+l},  vs_t = advantage_t + V_t

    Arguments are as in `vtrace`. The rollout is taken as on-policy, so `td` and `advantages` are
    the same.
    """
    advantages = _backward_sum(_td(discounts, rewards, values, bootstrap_value), discounts * lam)
    return Targets(values + advantages, advantages, advantages)


def _td(
    discounts: Tensor,
    rewards: Tensor,
    values: Tensor,
    bootstrap_value: Tensor,
    targets: Tensor | None = None,
) -> Tensor:
    """r_t + discount_t * target_{t+1} - V_t, where None for the targets means V itself."""
    following = torch.cat(
        [(values if targets is None else targets)[1:], bootstrap_value.unsqueeze(0)]
    )
    return rewards + torch.where(discounts == 0, 0.0, discounts * following) - values


def _backward_sum(deltas: Tensor, factors: Tensor) -> Tensor:
    """acc_t = delta_t + factor_t * acc_{t+1}, acc_T = 0."""
    accumulated = torch.empty_like(deltas)
    running = torch.zeros_like(deltas[0])
    for t in range(deltas.shape[0] - 1, -1, -1):
        running = torch.addcmul(deltas[t], factors[t], running)
        accumulated[t] = running
    return accumulated
