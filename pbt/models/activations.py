"""Activations by their names in the config.

All work in place: they follow a layer whose output is read by nothing else.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import elu_

from pbt.native import elu_bf16


def elu(values: Tensor) -> Tensor:
    """ELU with alpha = 1, in place.

    bfloat16 on the CPU goes through our own kernel where it was built: torch's takes some six times
    as long.
    """
    if values.dtype != torch.bfloat16 or not values.is_cpu or not _is_dense(values):
        return elu_(values)
    kernel = elu_bf16()
    if kernel is None:
        return elu_(values)
    if values.requires_grad and torch.is_grad_enabled():
        return _NativeElu.apply(values, kernel)  # type: ignore[no-any-return, no-untyped-call]
    # Torch's own operations in place do this as well, so that a gradient that needs the overwritten
    # values is refused.
    torch.autograd.graph.increment_version(values)
    kernel(values.data_ptr(), values.numel())
    return values


def _is_dense(values: Tensor) -> bool:
    """Whether the memory from the first value to the last holds values only, in any order."""
    return values.is_contiguous() or values.is_contiguous(memory_format=torch.channels_last)


class _NativeElu(torch.autograd.Function):
    """The kernel with torch's gradient, which takes the result, not the overwritten values."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, kernel: Callable[[int, int], None]) -> Tensor:
        kernel(values.data_ptr(), values.numel())
        ctx.mark_dirty(values)
        ctx.save_for_backward(values)
        return values

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (result,) = ctx.saved_tensors
        return torch.ops.aten.elu_backward(gradient, 1.0, 1.0, 1.0, True, result), None


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "elu": elu,
    "tanh": torch.tanh_,
}
