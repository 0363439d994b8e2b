"""Published weights: the learner writes, policy servers read; neither waits for the other."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


class PublishedWeights:
    """Two copies of one policy's weights and an index that is written last, so a reader sees the old or the new weights, never a mixture.

    Owner: the learner, the only writer. Readers poll `version`.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._buffers = tuple({name: tensor.detach().clone() for name, tensor in weights.items()} for _ in range(2))
        # [index of the readable buffer, its version]
        self._head = np.zeros(2, dtype=np.int64)

    @property
    def version(self) -> int:
        return int(self._head[1])

    def publish(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Make these weights the readable ones."""
        spare = 1 - int(self._head[0])
        with torch.no_grad():
            for name, tensor in self._buffers[spare].items():
                tensor.copy_(weights[name])
        self._head[1] = version
        self._head[0] = spare

    def copy_into(self, weights: Mapping[str, Tensor]) -> int:
        """Copy the readable weights into a model's tensors; returns their version."""
        head = self._head.copy()
        with torch.no_grad():
            for name, tensor in self._buffers[int(head[0])].items():
                weights[name].copy_(tensor)
        return int(head[1])
