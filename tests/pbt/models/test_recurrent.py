"""The masked cores against torch.nn.GRUCell and torch.nn.LSTMCell."""

from typing import Any

import pytest
import torch
from torch import Tensor

from pbt.models.cores import CORES
from pbt.models.recurrent import RecurrentCore
from tests.pbt.models.memories import MEMORIES

CELLS: dict[str, Any] = {"gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}
HIDDEN = 6
Cell = torch.nn.GRUCell | torch.nn.LSTMCell


@pytest.fixture(params=MEMORIES)
def core(request: pytest.FixtureRequest) -> str:
    word: str = request.param
    return word


def pair(core: str, inputs: int, hidden: int, seed: int) -> tuple[RecurrentCore, Cell]:
    cell = CORES[core](inputs, hidden)
    cell.initialize(torch.Generator().manual_seed(seed))
    torch.nn.init.uniform_(
        cell.bias_ih, -0.5, 0.5, generator=torch.Generator().manual_seed(seed + 1)
    )
    torch.nn.init.uniform_(
        cell.bias_hh, -0.5, 0.5, generator=torch.Generator().manual_seed(seed + 2)
    )
    reference: Cell = CELLS[core](inputs, hidden)
    reference.load_state_dict(cell.state_dict())
    return cell, reference


def reference_step(reference: Cell, x: Tensor, state: Tensor) -> Tensor:
    """One row: [S] before it -> [S] after it, h first."""
    if isinstance(reference, torch.nn.GRUCell):
        after: Tensor = reference(x, state)
        return after
    return torch.cat(reference(x, tuple(state.split(HIDDEN))))


def reference_states(reference: Cell, x: Tensor, start: Tensor, state: Tensor) -> Tensor:
    states = []
    for t in range(len(x)):
        rows = [
            reference_step(
                reference, x[t, b], torch.zeros_like(state[b]) if start[t, b] else state[b]
            )
            for b in range(x.shape[1])
        ]
        state = torch.stack(rows)
        states.append(state)
    return torch.stack(states)


@pytest.mark.parametrize("seed", range(10))
def test_unroll_and_its_gradients_equal_the_reference_with_episode_ends_inside(
    core: str, seed: int
) -> None:
    rng = torch.Generator().manual_seed(seed)
    cell, reference = pair(core, 5, HIDDEN, seed)
    x = torch.randn(9, 4, 5, generator=rng, requires_grad=True)
    state = torch.randn(4, cell.state_size, generator=rng, requires_grad=True)
    start = torch.rand(9, 4, generator=rng) < 0.25
    weights = torch.randn(9, 4, HIDDEN, generator=rng)

    found = cell.unroll(x, start, state)
    grads = torch.autograd.grad((found * weights).sum(), [x, state, *cell.parameters()])
    expected = reference_states(reference, x, start, state)[..., :HIDDEN]
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


def test_steps_equal_unroll_and_the_reference(core: str) -> None:
    rng = torch.Generator().manual_seed(3)
    cell, reference = pair(core, 5, HIDDEN, 3)
    x, state, start = (
        torch.randn(7, 4, 5, generator=rng),
        torch.randn(4, cell.state_size, generator=rng),
        torch.rand(7, 4, generator=rng) < 0.3,
    )
    unrolled, expected = (
        cell.unroll(x, start, state),
        reference_states(reference, x, start, state),
    )
    for t in range(7):
        state = cell.step(x[t], start[t], state)
        torch.testing.assert_close(state, expected[t], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(cell.output(state), unrolled[t], atol=1e-6, rtol=1e-5)


def test_a_state_that_was_never_written_does_not_survive_an_episode_start(core: str) -> None:
    cell, _ = pair(core, 5, HIDDEN, 4)
    x = torch.randn(3, 2, 5, generator=torch.Generator().manual_seed(0))
    start = torch.zeros(3, 2, dtype=torch.bool)
    start[0] = True
    poison = torch.full((2, cell.state_size), torch.nan)
    found = cell.unroll(x, start, poison)
    assert torch.equal(found, cell.unroll(x, start, torch.ones(2, cell.state_size)))
    assert cell.step(x[0], start[0], poison).isfinite().all()
    grads = torch.autograd.grad(found.sum(), list(cell.parameters()))
    assert all(g.isfinite().all() for g in grads)


def test_the_derivative_by_hand_equals_finite_differences(core: str) -> None:
    rng = torch.Generator().manual_seed(0)
    cell = CORES[core](2, 3).double()
    cell.initialize(rng)
    x, state = (
        torch.randn(4, 2, 2, generator=rng).double().requires_grad_(),
        torch.randn(2, cell.state_size, generator=rng).double().requires_grad_(),
    )
    start = torch.tensor([[False, True], [False, False], [True, False], [False, False]])
    assert torch.autograd.gradcheck(lambda x, state: cell.unroll(x, start, state), (x, state))


def test_first_weights_are_orthogonal_gate_by_gate_and_only_forget_gates_begin_open(
    core: str,
) -> None:
    cell = CORES[core](HIDDEN, HIDDEN)
    cell.initialize(torch.Generator().manual_seed(1))
    for weight in (cell.weight_ih, cell.weight_hh):
        for gate in weight.detach().split(HIDDEN):
            torch.testing.assert_close(gate @ gate.t(), torch.eye(HIDDEN), atol=1e-5, rtol=0)
    biases = (cell.bias_ih + cell.bias_hh).view(-1, HIDDEN)
    opened = [[1.0 if core == "lstm" and gate == 1 else 0.0] * HIDDEN for gate in range(4)]
    assert biases.tolist() == opened[: len(biases)]
