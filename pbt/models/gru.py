"""A gated recurrent unit whose state is cleared where episodes start.

Cho et al. 2014, in the form of torch.nn.GRUCell (reset gate applied to the hidden product):
    r = sigmoid(x W_ir + h W_hr),  z = sigmoid(x W_iz + h W_hz),  n = tanh(x W_in + r * (h W_hn)),  h' = (1 - z) * n + z * h      (biases left out)
Written out because the library's fused sequence kernels cannot clear a state in the middle.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


class MaskedGru(nn.Module):
    """Weights are named and laid out as in torch.nn.GRUCell: gates r, z, n stacked."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.zeros(3 * hidden_size))
        self.bias_hh = nn.Parameter(torch.zeros(3 * hidden_size))

    def initialize(self, generator: torch.Generator) -> None:
        """Orthogonal per gate, biases zero."""
        for weight in (self.weight_ih, self.weight_hh):
            for gate in weight.data.chunk(3):
                nn.init.orthogonal_(gate, generator=generator)

    def step(self, inputs: Tensor, episode_start: Tensor, state: Tensor) -> Tensor:
        """One step. inputs: [N, F]; episode_start: [N] bool, clears the state before it is used; state: [N, H]. Returns the state after, [N, H]."""
        return self._cell(linear(inputs, self.weight_ih, self.bias_ih), episode_start, state)

    def unroll(self, inputs: Tensor, episode_start: Tensor, state: Tensor) -> Tensor:
        """All steps, with one matrix product for the inputs of all of them.

        inputs: [T, B, F]; episode_start: [T, B] bool; state: [B, H] before row 0. Returns the state after every step, [T, B, H].
        """
        products = linear(inputs, self.weight_ih, self.bias_ih)
        states = []
        for product, start in zip(products.unbind(0), episode_start.unbind(0), strict=True):
            state = self._cell(product, start, state)
            states.append(state)
        return torch.stack(states)

    def _cell(self, product: Tensor, episode_start: Tensor, state: Tensor) -> Tensor:
        # masked_fill, not a product: a state that was never written may be nan.
        state = state.masked_fill(episode_start.unsqueeze(-1), 0.0)
        hidden = linear(state, self.weight_hh, self.bias_hh)
        size = 2 * self.hidden_size
        reset, update = torch.sigmoid(product[:, :size] + hidden[:, :size]).chunk(2, -1)
        candidate = torch.tanh(torch.addcmul(product[:, size:], reset, hidden[:, size:]))
        return torch.lerp(candidate, state, update)
