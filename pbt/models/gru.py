"""A gated recurrent unit whose state is cleared where episodes start.

Cho et al. 2014, in the form of torch.nn.GRUCell (reset gate applied to the hidden product), biases
left out:

    r = sigmoid(x W_ir + h W_hr)
    z = sigmoid(x W_iz + h W_hz)
    n = tanh(x W_in + r * (h W_hn))
    h' = (1 - z) * n + z * h

It is written out because the library's fused sequence kernels cannot clear a state in the middle.
Matrix products may be in a narrower dtype; gates and state never are.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pbt.models.packing import PackedLinear, can_pack, release


class MaskedGru(nn.Module):
    """The unit. Weights are named and laid out as in torch.nn.GRUCell: gates r, z, n stacked."""

    def __init__(self, input_size: int, hidden_size: int, dtype: torch.dtype | None = None) -> None:
        """A unit whose weights are to be set by `initialize`.

        dtype  of the matrix products; None: that of the weights
        """
        super().__init__()
        self.hidden_size, self._dtype = hidden_size, dtype
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.zeros(3 * hidden_size))
        self.bias_hh = nn.Parameter(torch.zeros(3 * hidden_size))
        self._packed: tuple[PackedLinear, PackedLinear] | None = None

    def initialize(self, generator: torch.Generator) -> None:
        """Set orthogonal weights per gate, and zero biases."""
        for weight in (self.weight_ih, self.weight_hh):
            for gate in weight.data.chunk(3):
                nn.init.orthogonal_(gate, generator=generator)

    def step(self, inputs: Tensor, episode_start: Tensor, state: Tensor) -> Tensor:
        """One step. Returns the state after it, [N, H].

        inputs         [N, F]
        episode_start  [N] bool; clears the state before it is used
        state          [N, H]
        """
        if self._packed is not None:
            of_inputs, of_state = self._packed
            return cell(
                of_inputs(self._cast(inputs)),
                episode_start,
                state,
                lambda before: of_state(self._cast(before)),
            )
        weight, bias = self._cast(self.weight_hh), self._cast(self.bias_hh)
        return cell(
            self._products(inputs),
            episode_start,
            state,
            lambda before: linear(before.to(weight.dtype), weight, bias),
        )

    def unroll(self, inputs: Tensor, episode_start: Tensor, state: Tensor) -> Tensor:
        """All steps, with one product for all inputs. Returns the state after each step, [T, B, H].

        inputs         [T, B, F]
        episode_start  [T, B] bool
        state          [B, H] before row 0
        """
        weight, bias = self._cast(self.weight_hh), self._cast(self.bias_hh)
        tensors = self._products(inputs), episode_start, state, weight, bias
        states: Tensor = Unroll.apply(*tensors)  # type: ignore[no-untyped-call]
        return states

    def pack(self) -> None:
        """Lay the weights out for `step`, after they were changed.

        From then on `step` does not see changes of them.
        """
        self._packed = None
        if can_pack(self.weight_hh):
            of_inputs = PackedLinear(self.weight_ih, self.bias_ih)
            self._packed = of_inputs, PackedLinear(self.weight_hh, self.bias_hh)

    def keep_packed(self) -> None:
        """Free the weights that `pack` has laid out anew.

        From then on only `step` works.
        """
        if self._packed is not None:
            release(self.weight_ih)
            release(self.weight_hh)

    def _products(self, inputs: Tensor) -> Tensor:
        return linear(self._cast(inputs), self._cast(self.weight_ih), self._cast(self.bias_ih))

    def _cast(self, tensor: Tensor) -> Tensor:
        return tensor if self._dtype is None else tensor.to(self._dtype)


def cell(
    product: Tensor,
    episode_start: Tensor,
    state: Tensor,
    hidden_product: Callable[[Tensor], Tensor],
) -> Tensor:
    """One step, after the product of its inputs. Returns the state after it, [N, H].

    product         [N, 3H], of the inputs
    episode_start   [N] bool
    state           [N, H]
    hidden_product  [N, H] state -> [N, 3H]
    """
    # masked_fill, not a product: a state that was never written may be nan.
    state = state.masked_fill(episode_start.unsqueeze(-1), 0.0)
    hidden, product = hidden_product(state).to(state.dtype), product.to(state.dtype)
    size = 2 * state.shape[-1]
    reset, update = torch.sigmoid(product[:, :size] + hidden[:, :size]).chunk(2, -1)
    candidate = torch.tanh(torch.addcmul(product[:, size:], reset, hidden[:, size:]))
    return torch.lerp(candidate, state, update)


class Unroll(torch.autograd.Function):
    """`cell` T times.

    Its gradient takes one matrix product for the recurrent weights of all steps, where autograd
    takes one per step.
    """

    @staticmethod
    def forward(
        ctx: Any,
        products: Tensor,
        episode_start: Tensor,
        state: Tensor,
        weight_hh: Tensor,
        bias_hh: Tensor,
    ) -> Tensor:
        rows, slots, size = products.shape[0], products.shape[1], state.shape[-1]
        states = state.new_empty(rows, slots, size)
        before, gates = torch.empty_like(states), state.new_empty(rows, slots, 4 * size)
        for t in range(rows):
            state = torch.masked_fill(state, episode_start[t].unsqueeze(-1), 0.0)
            before[t] = state
            hidden = linear(state.to(weight_hh.dtype), weight_hh, bias_hh).to(state.dtype)
            product = products[t].to(state.dtype)
            gate = torch.sigmoid(product[:, : 2 * size] + hidden[:, : 2 * size])
            candidate = torch.tanh(
                torch.addcmul(product[:, 2 * size :], gate[:, :size], hidden[:, 2 * size :])
            )
            torch.cat([gate, candidate, hidden[:, 2 * size :]], 1, out=gates[t])
            state = torch.lerp(candidate, state, gate[:, size:], out=states[t])
        ctx.save_for_backward(before, gates, episode_start, weight_hh)
        ctx.dtype = products.dtype
        return states

    @staticmethod
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        before, gates, episode_start, weight_hh = ctx.saved_tensors
        rows, slots, size = gradients.shape
        # Gradients by gate: of the products of the inputs, and of those of the state. They differ
        # for n, whose hidden product the reset gate multiplies.
        of_products = torch.empty(
            rows, slots, 3 * size, dtype=gradients.dtype, device=gradients.device
        )
        of_hidden = torch.empty(
            rows, slots, 3 * size, dtype=weight_hh.dtype, device=gradients.device
        )
        carried = torch.zeros_like(gradients[0])
        for t in range(rows - 1, -1, -1):
            reset, update, candidate, hidden = gates[t].chunk(4, 1)
            total = gradients[t] + carried
            towards_n = total * (1.0 - update) * (1.0 - candidate.square())
            towards_z = total * (before[t] - candidate) * update * (1.0 - update)
            towards_r = towards_n * hidden * reset * (1.0 - reset)
            torch.cat([towards_r, towards_z, towards_n], 1, out=of_products[t])
            of_hidden[t] = torch.cat([towards_r, towards_z, towards_n * reset], 1)
            through = torch.mm(of_hidden[t], weight_hh).to(total.dtype)
            carried = torch.addcmul(through, total, update).masked_fill_(
                episode_start[t].unsqueeze(-1), 0.0
            )
        flat = of_hidden.flatten(0, 1)
        weight = flat.t() @ before.flatten(0, 1).to(weight_hh.dtype)
        return of_products.to(ctx.dtype), None, carried, weight, flat.sum(0)
