"""Published weights: the learner writes, policy servers read; neither waits for the other."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


class PublishedWeights:
    """Two copies of one policy's weights and an index that is written last, so a reader sees the old or the new weights, never a mixture.

    Owner: the learner, the only writer. Readers poll `publications`; `version` is the learner's and stays when PBT replaces the weights.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._buffers = tuple({name: tensor.detach().clone() for name, tensor in weights.items()} for _ in range(2))
        # [publications so far (its lowest bit names the readable buffer), version of that buffer]
        self._head = np.zeros(2, dtype=np.int64)

    @property
    def publications(self) -> int:
        return int(self._head[0])

    def publish(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Make these weights the readable ones."""
        publications = self.publications + 1
        with torch.no_grad():
            for name, tensor in self._buffers[publications % 2].items():
                tensor.copy_(weights[name])
        self._head[1] = version
        self._head[0] = publications

    def copy_into(self, weights: Mapping[str, Tensor]) -> tuple[int, int]:
        """Copy the readable weights into a model's tensors; returns (publications, version)."""
        publications, version = (int(number) for number in self._head)
        with torch.no_grad():
            for name, tensor in self._buffers[publications % 2].items():
                weights[name].copy_(tensor)
        return publications, version
