"""V-trace and GAE equal loops that are written as close to the notation as possible.

The loops must also reject mutated formulas.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.algorithms import vtrace as module
from pbt.algorithms.vtrace import Targets, gae, vtrace

Array = NDArray[np.float64]
Case = tuple[Array, Array, Array, Array, Array, float, float, float]


def reference_vtrace(case: Case) -> tuple[Array, Array, Array]:
    """Equation 1 of the paper, term by term, for one column at a time."""
    log_rhos, discounts, rewards, values, bootstrap, rho_clip, c_clip, lam = case
    T, B = rewards.shape
    vs, td, advantages = np.zeros((T + 1, B)), np.zeros((T, B)), np.zeros((T, B))
    V = np.concatenate([values, bootstrap[None]])
    rho, c = np.minimum(rho_clip, np.exp(log_rhos)), lam * np.minimum(c_clip, np.exp(log_rhos))
    for b in range(B):
        vs[T, b] = V[T, b]
        for s in range(T):
            total = V[s, b]
            for t in range(s, T):
                product = 1.0
                for i in range(s, t):
                    product *= discounts[i, b] * c[i, b]
                total += (
                    product * rho[t, b] * (rewards[t, b] + discounts[t, b] * V[t + 1, b] - V[t, b])
                )
            vs[s, b] = total
        for s in range(T):
            td[s, b] = rewards[s, b] + discounts[s, b] * vs[s + 1, b] - V[s, b]
            advantages[s, b] = rho[s, b] * td[s, b]
    return vs[:T], advantages, td


def reference_gae(case: Case) -> tuple[Array, Array, Array]:
    _, discounts, rewards, values, bootstrap, _, _, lam = case
    T, B = rewards.shape
    V, advantages = np.concatenate([values, bootstrap[None]]), np.zeros((T, B))
    for b in range(B):
        for s in range(T):
            for t in range(s, T):
                weight = np.prod([discounts[i, b] * lam for i in range(s, t)])
                advantages[s, b] += weight * (
                    rewards[t, b] + discounts[t, b] * V[t + 1, b] - V[t, b]
                )
    return advantages + values, advantages, advantages


def cases(count: int, seed: int = 0) -> list[Case]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        shape = (int(rng.integers(1, 9)), int(rng.integers(1, 4)))
        discounts = np.where(rng.random(shape) < 0.2, 0.0, rng.uniform(0.5, 1.0))
        clips = (
            float(rng.uniform(0.5, 2.0)),
            float(rng.uniform(0.3, 1.5)),
            float(rng.choice([1.0, 0.95, 0.5, 0.0])),
        )
        made.append(
            (
                rng.normal(0, 0.8, shape),
                discounts,
                rng.normal(size=shape),
                rng.normal(size=shape),
                rng.normal(size=shape[1]),
                *clips,
            )
        )
    return made


def tensors(case: Case, dtype: torch.dtype) -> list[Tensor]:
    return [torch.from_numpy(array).to(dtype) for array in case[:5]]


def run_vtrace(case: Case, dtype: torch.dtype) -> Targets:
    return vtrace(*tensors(case, dtype), rho_clip=case[5], c_clip=case[6], lam=case[7])


def run_gae(case: Case, dtype: torch.dtype) -> Targets:
    return gae(*tensors(case, dtype)[1:], lam=case[7])


Run = Callable[[Case, torch.dtype], Targets]
Reference = Callable[[Case], tuple[Array, Array, Array]]


def disagreement(run: Run, reference: Reference, case: Case, dtype: torch.dtype) -> float:
    pairs = zip(run(case, dtype), reference(case), strict=True)
    return max(float(np.abs(found.double().numpy() - expected).max()) for found, expected in pairs)


@pytest.mark.parametrize(
    ("run", "reference"),
    [(run_vtrace, reference_vtrace), (run_gae, reference_gae)],
    ids=["vtrace", "gae"],
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
def test_equals_the_notation(
    run: Run, reference: Reference, dtype: torch.dtype, tolerance: float
) -> None:
    for case in cases(300):
        scale = max(1.0, *(float(np.abs(part).max()) for part in reference(case)))
        assert disagreement(run, reference, case, dtype) < tolerance * scale


MUTANTS = {
    "no clip of c": ("ratios.clamp(max=c_clip)", "ratios"),
    "no clip of rho": ("ratios.clamp(max=rho_clip), lam", "ratios, lam"),
    "clips swapped": (
        "ratios.clamp(max=rho_clip), lam * ratios.clamp(max=c_clip)",
        "ratios.clamp(max=c_clip), lam * ratios.clamp(max=rho_clip)",
    ),
    "rho and c swapped": ("rhos, cs = ", "cs, rhos = "),
    "lambda left out": ("lam * ratios", "ratios"),
    "no discount of the traces": (
        "_backward_sum(deltas, discounts * cs)",
        "_backward_sum(deltas, cs)",
    ),
    "no c in the traces": (
        "_backward_sum(deltas, discounts * cs)",
        "_backward_sum(deltas, discounts)",
    ),
    "no rho on delta": ("deltas = rhos * ", "deltas = "),
    "no rho on the advantage": ("rhos * td, td", "td, td"),
    "advantage from V instead of vs": ("values, bootstrap_value, vs)", "values, bootstrap_value)"),
    "no discount of the next value": ("discounts * following", "following"),
    "next value taken from this row": ("[1:]", "[:-1]"),
    "no bootstrap": (
        "bootstrap_value.unsqueeze(0)",
        "torch.zeros_like(bootstrap_value).unsqueeze(0)",
    ),
    "V not subtracted": (" - values\n", "\n"),
    "vs without V": ("vs = values + ", "vs = "),
    "sum runs one row short": (
        "range(deltas.shape[0] - 1, -1, -1)",
        "range(deltas.shape[0] - 1, 0, -1)",
    ),
}


@pytest.mark.parametrize(("old", "new"), MUTANTS.values(), ids=MUTANTS.keys())
def test_the_reference_rejects_a_mutated_formula(old: str, new: str) -> None:
    with open(module.__file__, encoding="utf-8") as file:
        source = file.read()
    assert old in source, "the mutation no longer applies: bring it up to date"
    names: dict[str, Callable[..., Targets]] = {}
    exec(compile(source.replace(old, new), "mutant", "exec"), names)

    def run(case: Case, dtype: torch.dtype) -> Targets:
        return names["vtrace"](*tensors(case, dtype), rho_clip=case[5], c_clip=case[6], lam=case[7])

    assert (
        max(disagreement(run, reference_vtrace, case, torch.float64) for case in cases(50, seed=1))
        > 1e-3
    )


def test_on_policy_vtrace_is_the_n_step_return() -> None:
    zeros = torch.zeros(3, 1, dtype=torch.float64)
    values = torch.tensor([[5.0], [6.0], [7.0]], dtype=torch.float64)
    found = vtrace(
        zeros, zeros + 0.5, zeros + 1.0, values, torch.tensor([8.0], dtype=torch.float64)
    )
    assert found.vs.flatten().tolist() == pytest.approx(
        [1 + 0.5 + 0.25 + 0.125 * 8, 1 + 0.5 + 0.25 * 8, 1 + 0.5 * 8]
    )


def test_trap_a_value_behind_a_termination_is_not_read() -> None:
    case = cases(1, seed=3)[0]
    log_rhos, discounts, rewards, values, bootstrap = tensors(case, torch.float64)
    discounts[-1] = 0.0
    plain = vtrace(log_rhos, discounts, rewards, values, bootstrap)
    poisoned = vtrace(log_rhos, discounts, rewards, values, torch.full_like(bootstrap, torch.nan))
    assert all(torch.equal(a, b) for a, b in zip(plain, poisoned, strict=True))
    estimates = zip(
        gae(discounts, rewards, values, bootstrap, lam=0.9),
        gae(discounts, rewards, values, bootstrap * torch.nan, lam=0.9),
        strict=True,
    )
    assert all(torch.equal(a, b) for a, b in estimates)
