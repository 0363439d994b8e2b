"""A gated recurrent unit whose state is cleared where episodes start.

Cho et al. 2014, in the form of torch.nn.GRUCell (reset gate applied to the hidden product):

    r = sigmoid(x W_ir + h W_hr)
    z = sigmoid(x W_iz + h W_hz)
    n = tanh(x W_in + r * (h W_hn))
    h' = (1 - z) * n + z * h

Biases are left out here. The gates are stacked in the order r, z, n.
"""

import torch
from torch import Tensor

from pbt.models.recurrent import RecurrentCore


class MaskedGru(RecurrentCore):
    """The unit; its state is its output."""

    GATES, VECTORS, KEPT = 3, 1, 4

    @staticmethod
    def advance(product: Tensor, hidden: Tensor, state: Tensor) -> Tensor:
        """As `RecurrentCore.advance`."""
        size = 2 * state.shape[-1]
        reset, update = torch.sigmoid(product[:, :size] + hidden[:, :size]).chunk(2, -1)
        candidate = torch.tanh(torch.addcmul(product[:, size:], reset, hidden[:, size:]))
        return torch.lerp(candidate, state, update)

    @staticmethod
    def record(
        product: Tensor, hidden: Tensor, state: Tensor, kept: Tensor, output: Tensor
    ) -> Tensor:
        """As `RecurrentCore.record`; keeps r, z, n and the hidden product of n."""
        size = state.shape[-1]
        gate = torch.sigmoid(product[:, : 2 * size] + hidden[:, : 2 * size])
        candidate = torch.tanh(
            torch.addcmul(product[:, 2 * size :], gate[:, :size], hidden[:, 2 * size :])
        )
        torch.cat([gate, candidate, hidden[:, 2 * size :]], 1, out=kept)
        return torch.lerp(candidate, state, gate[:, size:], out=output)

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
        """As `RecurrentCore.reverse`.

        The two gradients differ for n, whose hidden product the reset gate multiplies.
        """
        reset, update, candidate, hidden = kept.chunk(4, 1)
        total = gradient + carried
        towards_n = total * (1.0 - update) * (1.0 - candidate.square())
        towards_z = total * (before - candidate) * update * (1.0 - update)
        towards_r = towards_n * hidden * reset * (1.0 - reset)
        torch.cat([towards_r, towards_z, towards_n], 1, out=of_product)
        of_hidden.copy_(torch.cat([towards_r, towards_z, towards_n * reset], 1))
        through = torch.mm(of_hidden, weight_hh).to(total.dtype)
        return torch.addcmul(through, total, update)
