"""Hidden layers: linear layers with an activation behind each."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pbt.models.encoders import blank
from pbt.models.packing import PackedLinear, can_pack, release


class DenseLayers(nn.ModuleList):
    """The layers, whose weights are to be set; none where there is one width."""

    def __init__(
        self, widths: Sequence[int], activation: Callable[[Tensor], Tensor], dtype: torch.dtype
    ) -> None:
        """widths: of the input and of each layer's output.

        activation  works in place
        dtype       of the products
        """
        layers = tuple(blank(nn.Linear, a, b) for a, b in pairwise(widths))
        super().__init__(layers)
        self._layers, self._activation, self._dtype = layers, activation, dtype
        self._packed: tuple[PackedLinear, ...] | None = None

    def through(self, features: Tensor) -> Tensor:
        """[N, widths[0]] -> [N, widths[-1]]."""
        for layer in self._packed or self._layers:
            if isinstance(layer, PackedLinear):
                features = layer(features)
            else:
                weight, bias = layer.weight.to(self._dtype), layer.bias.to(self._dtype)
                features = linear(features, weight, bias)
            features = self._activation(features)
        return features

    def pack(self) -> None:
        """Lay the weights out for `through`, after they were changed or moved.

        From then on it does not see changes of them.
        """
        packed = [
            PackedLinear(layer.weight, layer.bias)
            for layer in self._layers
            if can_pack(layer.weight)
        ]
        self._packed = tuple(packed) or None

    def keep_packed(self) -> None:
        """Free the weights that `pack` has laid out anew, for layers that will not change."""
        if self._packed is not None:
            for layer in self._layers:
                release(layer.weight)
