"""The weights before the newest: where learning is one round behind, they acted what is trained.

Liu et al. 2020, "High-Throughput Synchronous Deep RL", equation 6: the gradient at them is applied
to the newest weights.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from pbt.algorithms.batch import Batch
from pbt.errors import EngineError
from pbt.learning.optimizer import FlatParameters
from pbt.models.policy_model import PolicyModel

_PARAMETERS, _MOMENTS = "behaviour.parameters", "behaviour.moments."


class BehaviourWeights:
    """What a model computed with before its last update.

    tensors  its parameters, [parameters] float32, and the statistics of its observations; they
             belong to the learner's state
    """

    def __init__(self, model: PolicyModel, parameters: FlatParameters) -> None:
        self._model, self._parameters = model, parameters
        self.tensors = {name: one.clone() for name, one in self._present().items()}

    def _present(self) -> dict[str, Tensor]:
        moments = {
            f"{_MOMENTS}{leaf}.{name}": buffer
            for leaf, _, statistics in self._model.encoder.normalizers()
            for name, buffer in statistics.state_dict().items()
        }
        return {_PARAMETERS: self._parameters.vector, **moments}

    def keep(self) -> None:
        """Keep the present weights: an update follows."""
        for name, tensor in self._present().items():
            self.tensors[name].copy_(tensor)

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a learner's state."""
        for name, tensor in self.tensors.items():
            tensor.copy_(state[name])

    @contextmanager
    def acting(self, batch: Batch, version: int) -> Iterator[None]:
        """Within it the model computes as it did when it acted the rows of a batch.

        version: of the present weights. Raises: EngineError for rows of other weights than the
        present ones and those before.
        """
        acted = sorted(set(batch.version[batch.valid].tolist()))
        if acted == [version]:
            yield
        elif acted == [version - 1]:
            with self._in_place(), self._parameters.at(self.tensors[_PARAMETERS]):
                yield
        else:
            raise EngineError(
                f"rows of versions {acted} came to version {version}; expected those of one round, "
                "at most one version old; a bug worth reporting"
            )

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Put the statistics of observations back as they were."""
        present = {name: one for name, one in self._present().items() if name != _PARAMETERS}
        newest = {name: one.clone() for name, one in present.items()}
        for name, buffer in present.items():
            buffer.copy_(self.tensors[name])
        try:
            yield
        finally:
            for name, buffer in present.items():
                buffer.copy_(newest[name])

    def rescale_values(self, change: float) -> None:
        """Have the value head predict in another unit, as the newest one does now."""
        with self._parameters.at(self.tensors[_PARAMETERS]), torch.no_grad():
            self._model.heads.weight[-1] *= change
            self._model.heads.bias[-1] *= change
