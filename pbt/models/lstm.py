"""A long short-term memory whose state is cleared where episodes start.

Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000, as torch.nn.LSTMCell:

    i = sigmoid(x W_ii + h W_hi)
    f = sigmoid(x W_if + h W_hf)
    g = tanh(x W_ig + h W_hg)
    o = sigmoid(x W_io + h W_ho)
    c' = f * c + i * g
    h' = o * tanh(c')

Biases are left out here. The gates are stacked in the order i, f, g, o.
"""

import torch
from torch import Tensor

from pbt.models.recurrent import RecurrentCore

# Jozefowicz et al. 2015, "An Empirical Exploration of Recurrent Network Architectures": with 0 a
# memory halves at each step until it has learned to forget less.
_FIRST_FORGET_BIAS = 1.0


class MaskedLstm(RecurrentCore):
    """The memory; its state is h, the output, and then c."""

    GATES, VECTORS, KEPT = 4, 2, 5

    def initialize(self, generator: torch.Generator) -> None:
        """Set orthogonal weights per gate, and zero biases but for the forget gate's."""
        super().initialize(generator)
        size = self.hidden_size
        self.bias_ih.data[size : 2 * size] = _FIRST_FORGET_BIAS

    @staticmethod
    def advance(product: Tensor, hidden: Tensor, state: Tensor) -> Tensor:
        """As `RecurrentCore.advance`."""
        i, f, g, o = _gates(product, hidden)
        cell = torch.addcmul(f * state[:, f.shape[1] :], i, g)
        return torch.cat([o * torch.tanh(cell), cell], 1)

    @staticmethod
    def record(
        product: Tensor, hidden: Tensor, state: Tensor, kept: Tensor, output: Tensor
    ) -> Tensor:
        """As `RecurrentCore.record`; keeps i, f, g, o and tanh(c')."""
        i, f, g, o = _gates(product, hidden)
        cell = torch.addcmul(f * state[:, f.shape[1] :], i, g)
        shown = torch.tanh(cell)
        torch.cat([i, f, g, o, shown], 1, out=kept)
        return torch.cat([torch.mul(o, shown, out=output), cell], 1)

    @staticmethod
    def reverse(
        gradient: Tensor,
        carried: Tensor,
        before: Tensor,
        kept: Tensor,
        of_product: Tensor,
        of_hidden: Tensor,
        weight_hh: Tensor,
    ) -> Tensor:
        """As `RecurrentCore.reverse`; the two gradients are the same."""
        i, f, g, o, shown = kept.chunk(5, 1)
        size = i.shape[1]
        total = gradient + carried[:, :size]
        cell = torch.addcmul(carried[:, size:], total * o, 1.0 - shown.square())
        towards_i = cell * g * i * (1.0 - i)
        towards_f = cell * before[:, size:] * f * (1.0 - f)
        towards_g = cell * i * (1.0 - g.square())
        towards_o = total * shown * o * (1.0 - o)
        torch.cat([towards_i, towards_f, towards_g, towards_o], 1, out=of_product)
        of_hidden.copy_(of_product)
        return torch.cat([torch.mm(of_hidden, weight_hh).to(cell.dtype), cell * f], 1)


def _gates(product: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
    """i, f, g and o, each [N, H]."""
    i, f, g, o = (product + hidden).chunk(4, 1)
    return torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
