"""The masked cell against torch.nn.GRUCell."""

import pytest
import torch
from torch import Tensor

from pbt.models.gru import MaskedGru


def pair(inputs: int, hidden: int, seed: int) -> tuple[MaskedGru, torch.nn.GRUCell]:
    cell = MaskedGru(inputs, hidden)
    cell.initialize(torch.Generator().manual_seed(seed))
    torch.nn.init.uniform_(
        cell.bias_ih, -0.5, 0.5, generator=torch.Generator().manual_seed(seed + 1)
    )
    torch.nn.init.uniform_(
        cell.bias_hh, -0.5, 0.5, generator=torch.Generator().manual_seed(seed + 2)
    )
    reference = torch.nn.GRUCell(inputs, hidden)
    reference.load_state_dict(cell.state_dict())
    return cell, reference


def reference_states(
    reference: torch.nn.GRUCell, x: Tensor, start: Tensor, state: Tensor
) -> Tensor:
    states = []
    for t in range(len(x)):
        rows = [
            reference(x[t, b], torch.zeros_like(state[b]) if start[t, b] else state[b])
            for b in range(x.shape[1])
        ]
        state = torch.stack(rows)
        states.append(state)
    return torch.stack(states)


@pytest.mark.parametrize("seed", range(10))
def test_unroll_and_its_gradients_equal_the_reference_with_episode_ends_inside(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    cell, reference = pair(5, 6, seed)
    x = torch.randn(9, 4, 5, generator=rng, requires_grad=True)
    state = torch.randn(4, 6, generator=rng, requires_grad=True)
    start = torch.rand(9, 4, generator=rng) < 0.25
    weights = torch.randn(9, 4, 6, generator=rng)

    found = cell.unroll(x, start, state)
    grads = torch.autograd.grad((found * weights).sum(), [x, state, *cell.parameters()])
    expected = reference_states(reference, x, start, state)
    expected_grads = torch.autograd.grad(
        (expected * weights).sum(), [x, state, *reference.parameters()]
    )

    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
    for name, one, two in zip(
        ["x", "state", *dict(cell.named_parameters())], grads, expected_grads, strict=True
    ):
        torch.testing.assert_close(
            one, two, atol=1e-5, rtol=1e-4, msg=lambda text, name=name: f"{name}: {text}"
        )


def test_steps_equal_unroll() -> None:
    rng = torch.Generator().manual_seed(3)
    cell, _ = pair(5, 6, 3)
    x, state, start = (
        torch.randn(7, 4, 5, generator=rng),
        torch.randn(4, 6, generator=rng),
        torch.rand(7, 4, generator=rng) < 0.3,
    )
    unrolled = cell.unroll(x, start, state)
    for t in range(7):
        state = cell.step(x[t], start[t], state)
        torch.testing.assert_close(state, unrolled[t], atol=1e-6, rtol=1e-5)


def test_a_state_that_was_never_written_does_not_survive_an_episode_start() -> None:
    cell, _ = pair(5, 6, 4)
    x = torch.randn(3, 2, 5, generator=torch.Generator().manual_seed(0))
    start = torch.zeros(3, 2, dtype=torch.bool)
    start[0] = True
    found = cell.unroll(x, start, torch.full((2, 6), torch.nan))
    assert torch.equal(found, cell.unroll(x, start, torch.ones(2, 6)))
    grads = torch.autograd.grad(found.sum(), list(cell.parameters()))
    assert all(g.isfinite().all() for g in grads)


def test_the_derivative_by_hand_equals_finite_differences() -> None:
    rng = torch.Generator().manual_seed(0)
    cell = MaskedGru(2, 3).double()
    cell.initialize(rng)
    x, state = (
        torch.randn(4, 2, 2, generator=rng).double().requires_grad_(),
        torch.randn(2, 3, generator=rng).double().requires_grad_(),
    )
    start = torch.tensor([[False, True], [False, False], [True, False], [False, False]])
    assert torch.autograd.gradcheck(lambda x, state: cell.unroll(x, start, state), (x, state))
