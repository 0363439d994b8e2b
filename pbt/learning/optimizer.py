"""Optimisers on one flat vector of all parameters.

So gradients, clipping, reduction and checkpoints of a whole network are single operations. The
rates that PBT moves come with every step; what an optimiser is made with stays as it is.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from pbt.config.learning import LearningConfig


class FlatParameters:
    """A model's parameters as one vector. They are views of it, so they change with it.

    vector   [parameters] float32
    present  the vector that the model computes with: `vector`, but within `at`
    """

    def __init__(self, model: nn.Module) -> None:
        parameters = list(model.parameters())
        # A module finds its parameters by name in a dict of its own.
        owned = (
            (module._parameters, name) for module in model.modules() for name in module._parameters
        )
        self._places = [(own, name) for own, name in owned if own[name] is not None]
        self._shapes = [parameter.shape for parameter in parameters]
        self.vector = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        for parameter, part in zip(parameters, self._parts(self.vector), strict=True):
            parameter.data = part
        self.present, self._parameters = self.vector, list[Tensor](parameters)

    def _parts(self, vector: Tensor) -> list[Tensor]:
        """Views of a vector in the shapes of the parameters."""
        sizes = [shape.numel() for shape in self._shapes]
        parts = torch.split(vector, sizes)
        return [part.view(shape) for part, shape in zip(parts, self._shapes, strict=True)]

    @contextmanager
    def at(self, vector: Tensor | None) -> Iterator[None]:
        """Within it, the model computes with another vector, perhaps one of `torch.func`.

        None: with its own.
        """
        if vector is None:
            yield
            return
        before = self.present, self._parameters
        parts = [
            part if part.requires_grad else part.requires_grad_() for part in self._parts(vector)
        ]
        self._put(vector, parts)
        try:
            yield
        finally:
            self._put(*before)

    def _put(self, vector: Tensor, parameters: list[Tensor]) -> None:
        self.present, self._parameters = vector, parameters
        for (owner, name), parameter in zip(self._places, parameters, strict=True):
            owner[name] = parameter  # type: ignore[assignment]

    def gradient_of(self, loss: Tensor, weight: Tensor) -> Tensor:
        """The gradient of a scalar followed by `weight`, [parameters + 1], a new tensor.

        It is that by the parameters which the model computes with.
        """
        gradients = torch.autograd.grad(loss, self._parameters)
        flat = (gradient.reshape(-1) for gradient in gradients)
        return torch.cat([*flat, weight.to(self.vector.dtype).reshape(1)])

    def is_finite(self) -> bool:
        """Whether the sum of all weights is finite, which it is not when a weight is not."""
        return math.isfinite(float(self.vector.sum()))


class Optimizer(ABC):
    """Moves a vector against gradients, and keeps their moments.

    With learning rate 0 the vector keeps its numbers, while the moments still move.

    PREFIX  of the names of its tensors in a learner's state
    """

    PREFIX: ClassVar[str]

    @abstractmethod
    def step(self, vector: Tensor, gradient: Tensor, values: Mapping[str, float]) -> None:
        """Take one step, in place. The gradient is not used afterwards.

        values  the hyperparameters in force, by name
        """

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """The moments, not copied; the next step changes them."""

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Copy from the `tensors` of an optimiser of the same kind and of as many parameters."""
        for name, value in self.tensors().items():
            value.copy_(state[name])


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015) by torch's fused kernel.

    The kernel is called as a function, because the first torch.optim.Optimizer of a process loads
    torch's compiler, which takes 2 s and 80 MB and is not used.
    """

    PREFIX = "adam."

    def __init__(self, vector: Tensor, *, beta2: float, eps: float) -> None:
        """vector: one like those that will be moved."""
        self._beta2, self._eps = beta2, eps
        self._steps = torch.zeros((), device=vector.device)
        self._exp_avg, self._exp_avg_sq = torch.zeros_like(vector), torch.zeros_like(vector)

    @torch.no_grad()
    def step(self, vector: Tensor, gradient: Tensor, values: Mapping[str, float]) -> None:
        adam(
            [vector],
            [gradient],
            [self._exp_avg],
            [self._exp_avg_sq],
            [],
            [self._steps],
            fused=True,
            amsgrad=False,
            maximize=False,
            lr=values["learning_rate"],
            beta1=values["adam_beta1"],
            beta2=self._beta2,
            eps=self._eps,
            weight_decay=0.0,
        )

    def tensors(self) -> dict[str, Tensor]:
        return {"step": self._steps, "exp_avg": self._exp_avg, "exp_avg_sq": self._exp_avg_sq}


class RMSProp(Optimizer):
    """RMSProp (Tieleman & Hinton 2012): gradients are divided by the root of their mean square.

    Programs disagree on where epsilon stands: torch adds it to the root, Lasagne and TensorFlow add
    it to the mean square inside.
    """

    PREFIX = "rmsprop."

    def __init__(self, vector: Tensor, *, decay: float, eps: float, eps_inside: bool) -> None:
        """vector: one like those that will be moved."""
        self._decay, self._eps, self._eps_inside = decay, eps, eps_inside
        self._square_avg = torch.zeros_like(vector)

    @torch.no_grad()
    def step(self, vector: Tensor, gradient: Tensor, values: Mapping[str, float]) -> None:
        mean = self._square_avg.mul_(self._decay)
        mean.addcmul_(gradient, gradient, value=1.0 - self._decay)
        root = (mean + self._eps).sqrt_() if self._eps_inside else mean.sqrt().add_(self._eps)
        vector.addcdiv_(gradient, root, value=-values["learning_rate"])

    def tensors(self) -> dict[str, Tensor]:
        return {"square_avg": self._square_avg}


OPTIMIZER_PREFIXES = (Adam.PREFIX, RMSProp.PREFIX)


def new_optimizer(config: LearningConfig, vector: Tensor) -> Optimizer:
    """The optimiser that the config names. vector: one like those that it will move."""
    if config.optimizer == "adam":
        return Adam(vector, beta2=config.adam_beta2, eps=config.adam_eps)
    inside = config.rmsprop_eps_inside
    return RMSProp(vector, decay=config.rmsprop_decay, eps=config.rmsprop_eps, eps_inside=inside)
