"""Adam over one flat vector: gradients, clipping, reduction and checkpoints of a whole network
are single operations.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim.adam import adam


class FlatAdam:
    """Kingma & Ba 2015, by torch's fused kernel. The model's parameters become views of one vector,
    so a step on it is a step on them.

    The kernel is called by its function: the first torch.optim.Optimizer of a process loads torch's
    compiler, 2 s and 80 MB for nothing.
    """

    def __init__(self, model: nn.Module, *, beta2: float, eps: float) -> None:
        self._parameters = list(model.parameters())
        self._flat = torch.cat([parameter.detach().reshape(-1) for parameter in self._parameters])
        views = zip(
            self._parameters,
            torch.split(self._flat, [parameter.numel() for parameter in self._parameters]),
            strict=True,
        )
        for parameter, weights in views:
            parameter.data = weights.view_as(parameter)
        self._beta2, self._eps = beta2, eps
        self._steps = torch.zeros((), device=self._flat.device)
        self._exp_avg, self._exp_avg_sq = torch.zeros_like(self._flat), torch.zeros_like(self._flat)

    def gradient_of(self, loss: Tensor, weight: Tensor) -> Tensor:
        """The gradient of a scalar with `weight` behind it, [parameters + 1], a new tensor."""
        gradients = torch.autograd.grad(loss, self._parameters)
        return torch.cat(
            [
                *(gradient.reshape(-1) for gradient in gradients),
                weight.to(self._flat.dtype).reshape(1),
            ]
        )

    @torch.no_grad()
    def step(self, gradient: Tensor, learning_rate: float, beta1: float) -> None:
        """One step against the gradient, [parameters]. With learning rate 0 the weights keep
        their bits; the moments still move.
        """
        adam(
            [self._flat],
            [gradient],
            [self._exp_avg],
            [self._exp_avg_sq],
            [],
            [self._steps],
            fused=True,
            amsgrad=False,
            maximize=False,
            lr=learning_rate,
            beta1=beta1,
            beta2=self._beta2,
            eps=self._eps,
            weight_decay=0.0,
        )

    def is_finite(self) -> bool:
        """Every weight is a number, and not so large that their sum is none."""
        return math.isfinite(float(self._flat.sum()))

    def tensors(self) -> dict[str, Tensor]:
        """The moments and the step count; the next step changes them."""
        return {"step": self._steps, "exp_avg": self._exp_avg, "exp_avg_sq": self._exp_avg_sq}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over a copy of `tensors()` of an optimiser over the same parameters."""
        for name, value in self.tensors().items():
            value.copy_(state[name])
