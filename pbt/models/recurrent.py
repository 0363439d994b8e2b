"""What every recurrent core has: weights, packing, and a state that is cleared by episode starts.

A core is written out because the library's fused sequence kernels cannot clear a state in the
middle. Matrix products may be in a narrower dtype; gates and state never are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pbt.models.packing import PackedLinear, can_pack, release


class RecurrentCore(nn.Module, ABC):
    """A core. Its weights are named and laid out as those of torch's cells, gates stacked.

    The state of N agents is [N, S] with S = `state_size`; its first H = `hidden_size` numbers are
    the output.

    GATES    parts of the stacked weights
    VECTORS  S / H
    KEPT     vectors of H numbers that a step of `unroll` keeps for its gradient
    """

    GATES: ClassVar[int]
    VECTORS: ClassVar[int]
    KEPT: ClassVar[int]

    def __init__(self, input_size: int, hidden_size: int, dtype: torch.dtype | None = None) -> None:
        """A core whose weights are to be set by `initialize`.

        dtype  of the matrix products; None: that of the weights
        """
        super().__init__()
        self.hidden_size, self._dtype = hidden_size, dtype
        self.state_size = self.VECTORS * hidden_size
        self.weight_ih = nn.Parameter(torch.empty(self.GATES * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(self.GATES * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.zeros(self.GATES * hidden_size))
        self.bias_hh = nn.Parameter(torch.zeros(self.GATES * hidden_size))
        self._packed: tuple[PackedLinear, PackedLinear] | None = None

    @staticmethod
    @abstractmethod
    def advance(product: Tensor, hidden: Tensor, state: Tensor) -> Tensor:
        """The state after one step, [N, S].

        product  [N, GATES * H], of the inputs
        hidden   [N, GATES * H], of the output before
        state    [N, S], cleared where an episode starts
        """

    @staticmethod
    @abstractmethod
    def record(
        product: Tensor, hidden: Tensor, state: Tensor, kept: Tensor, output: Tensor
    ) -> Tensor:
        """As `advance`; fills `kept`, [N, KEPT * H], for `reverse`, and `output`, [N, H]."""

    @staticmethod
    @abstractmethod
    def reverse(
        gradient: Tensor,
        carried: Tensor,
        before: Tensor,
        kept: Tensor,
        of_product: Tensor,
        of_hidden: Tensor,
        weight_hh: Tensor,
    ) -> Tensor:
        """The gradient of one step. Returns that of the state before, [N, S].

        gradient    [N, H], of the output
        carried     [N, S], of the state, from later steps
        before      [N, S], the state before, as `record` got it
        kept        [N, KEPT * H], from `record`
        of_product  [N, GATES * H], is filled with the gradient of `product`
        of_hidden   [N, GATES * H], is filled with the gradient of `hidden`
        weight_hh   [GATES * H, H], in the dtype of `of_hidden`
        """

    def initialize(self, generator: torch.Generator) -> None:
        """Set orthogonal weights per gate, and zero biases."""
        for weight in (self.weight_ih, self.weight_hh):
            for gate in weight.data.chunk(self.GATES):
                nn.init.orthogonal_(gate, generator=generator)

    def output(self, state: Tensor) -> Tensor:
        """What the layers behind see of a state: [N, S] -> [N, H]."""
        return state if self.VECTORS == 1 else state[:, : self.hidden_size]

    def step(self, inputs: Tensor, episode_start: Tensor, state: Tensor) -> Tensor:
        """One step. Returns the state after it, [N, S].

        inputs         [N, F]
        episode_start  [N] bool; clears the state before it is used
        state          [N, S]
        """
        # masked_fill, not a product: a state that was never written may be nan.
        state = state.masked_fill(episode_start.unsqueeze(-1), 0.0)
        before = self.output(state)
        if self._packed is not None:
            of_inputs, of_state = self._packed
            product, hidden = of_inputs(self._cast(inputs)), of_state(self._cast(before))
        else:
            weight, bias = self._cast(self.weight_hh), self._cast(self.bias_hh)
            product = self._products(inputs)
            hidden = linear(before.to(weight.dtype), weight, bias)
        return self.advance(product.to(state.dtype), hidden.to(state.dtype), state)

    def unroll(self, inputs: Tensor, episode_start: Tensor, state: Tensor) -> Tensor:
        """All steps, with one product for all inputs. Returns the output of each, [T, B, H].

        inputs         [T, B, F]
        episode_start  [T, B] bool
        state          [B, S] before row 0
        """
        weight, bias = self._cast(self.weight_hh), self._cast(self.bias_hh)
        return _unrolled(type(self), self._products(inputs), episode_start, state, weight, bias)

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


class Unroll(torch.autograd.Function):
    """`RecurrentCore.record` T times.

    Its gradient takes one matrix product for the recurrent weights of all steps, where autograd
    takes one per step.
    """

    @staticmethod
    def forward(
        ctx: Any,
        core: type[RecurrentCore],
        products: Tensor,
        episode_start: Tensor,
        state: Tensor,
        weight_hh: Tensor,
        bias_hh: Tensor,
    ) -> Tensor:
        rows, slots, size = products.shape[0], products.shape[1], weight_hh.shape[1]
        outputs = state.new_empty(rows, slots, size)
        before = state.new_empty(rows, slots, core.VECTORS * size)
        kept = state.new_empty(rows, slots, core.KEPT * size)
        for t in range(rows):
            state = torch.masked_fill(state, episode_start[t].unsqueeze(-1), 0.0)
            before[t] = state
            output = state[:, :size].to(weight_hh.dtype)
            hidden = linear(output, weight_hh, bias_hh).to(state.dtype)
            product = products[t].to(state.dtype)
            state = core.record(product, hidden, state, kept[t], outputs[t])
        ctx.save_for_backward(before, kept, episode_start, weight_hh)
        ctx.core, ctx.dtype = core, products.dtype
        return outputs

    @staticmethod
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        before, kept, episode_start, weight_hh = ctx.saved_tensors
        rows, slots, size = gradients.shape
        # Those of the products of the inputs, and those of the products of the state.
        of_products = gradients.new_empty(rows, slots, len(weight_hh))
        of_hidden = torch.empty_like(of_products, dtype=weight_hh.dtype)
        carried = torch.zeros_like(before[0])
        for t in range(rows - 1, -1, -1):
            carried = ctx.core.reverse(
                gradients[t], carried, before[t], kept[t], of_products[t], of_hidden[t], weight_hh
            ).masked_fill_(episode_start[t].unsqueeze(-1), 0.0)
        flat = of_hidden.flatten(0, 1)
        weight = flat.t() @ before[..., :size].flatten(0, 1).to(weight_hh.dtype)
        return None, of_products.to(ctx.dtype), None, carried, weight, flat.sum(0)


_unrolled: Callable[..., Tensor] = Unroll.apply
