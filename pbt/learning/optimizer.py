"""Adam on one flat vector of all parameters.

So gradients, clipping, reduction and checkpoints of a whole network are single operations.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim.adam import adam


class FlatAdam:
    """Adam (Kingma & Ba 2015) by torch's fused kernel.

    last_step  (learning rate, beta1) of the latest step; the caller may set it to None

    The model's parameters become views of one vector, so a step on the vector is a step on them.
    The kernel is called as a function, because the first torch.optim.Optimizer of a process loads
    torch's compiler, which takes 2 s and 80 MB and is not used.
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
        self.last_step: tuple[float, float] | None = None
        self._steps = torch.zeros((), device=self._flat.device)
        self._exp_avg, self._exp_avg_sq = torch.zeros_like(self._flat), torch.zeros_like(self._flat)

    def gradient_of(self, loss: Tensor, weight: Tensor) -> Tensor:
        """The gradient of a scalar followed by `weight`, [parameters + 1], a new tensor."""
        gradients = torch.autograd.grad(loss, self._parameters)
        return torch.cat(
            [
                *(gradient.reshape(-1) for gradient in gradients),
                weight.to(self._flat.dtype).reshape(1),
            ]
        )

    @torch.no_grad()
    def step(self, gradient: Tensor, learning_rate: float, beta1: float) -> None:
        """Take one step against the gradient, [parameters].

        With learning rate 0 the weights keep their bits, while the moments still move.
        """
        self.last_step = learning_rate, beta1
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
        """Whether the sum of all weights is finite, which it is not when a weight is not."""
        return math.isfinite(float(self._flat.sum()))

    def tensors(self) -> dict[str, Tensor]:
        """The moments and the step count, not copied; the next step changes them."""
        return {"step": self._steps, "exp_avg": self._exp_avg, "exp_avg_sq": self._exp_avg_sq}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Copy from the `tensors` of an optimiser of the same parameters."""
        for name, value in self.tensors().items():
            value.copy_(state[name])
