"""Adam over one flat vector: gradients, clipping, reduction and checkpoints of a whole network are single operations."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class FlatAdam:
    """Kingma & Ba 2015, by torch.optim.Adam. The model's parameters become views of one vector, so a step on it is a step on them."""

    def __init__(self, model: nn.Module, *, beta2: float, eps: float) -> None:
        parameters = list(model.parameters())
        self._flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in parameters]))
        self._gradient = torch.zeros_like(self._flat.data)
        sizes = [p.numel() for p in parameters]
        views = zip(parameters, torch.split(self._flat.data, sizes), torch.split(self._gradient, sizes), strict=True)
        for parameter, weights, gradient in views:
            parameter.data = weights.view_as(parameter)
            parameter.grad = gradient.view_as(parameter)
        self._beta2 = beta2
        self._adam = torch.optim.Adam([self._flat], betas=(0.9, beta2), eps=eps, fused=True)
        zero = torch.zeros((), device=self._flat.device)
        self._adam.state[self._flat] = {"step": zero, "exp_avg": torch.zeros_like(self._gradient), "exp_avg_sq": torch.zeros_like(self._gradient)}

    def gradient_of(self, loss: Tensor) -> Tensor:
        """The gradient of a scalar, [parameters], a new tensor."""
        self._gradient.zero_()
        loss.backward()  # type: ignore[no-untyped-call]
        return self._gradient.clone()

    def step(self, gradient: Tensor, learning_rate: float, beta1: float) -> None:
        """One step against the gradient, [parameters]. With learning rate 0 the weights keep their bits; the moments still move."""
        group = self._adam.param_groups[0]
        group["lr"], group["betas"] = learning_rate, (beta1, self._beta2)
        self._flat.grad = gradient
        self._adam.step()

    def tensors(self) -> dict[str, Tensor]:
        """The moments and the step count; the next step changes them."""
        return dict(self._adam.state[self._flat])

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over a copy of `tensors()` of an optimiser over the same parameters."""
        for name, value in self._adam.state[self._flat].items():
            value.copy_(state[name])
