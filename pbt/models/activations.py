"""Activations by their names in the config.

All work in place: they follow a layer whose output is read by nothing else.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import elu_

from pbt.native import elu_bf16, elu_float32

_LEAST, _ROUND = -32.0, 12582912.0
_PER_LN2, _LN2_FIRST, _LN2_REST = 1.44269504, 0.693359375, 2.12194440e-4
_POLYNOMIAL = 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1


def elu(values: Tensor) -> Tensor:
    """ELU with alpha = 1, in place.

    On the CPU it goes through kernels of our own where they were built: torch's take three to six
    times as long. Without them the results are the same, to the bit.
    """
    change = _own(values) if values.is_cpu else None
    if change is None:
        return elu_(values)
    if values.requires_grad and torch.is_grad_enabled():
        return _OwnElu.apply(values, change)  # type: ignore[no-any-return, no-untyped-call]
    # Torch's own operations in place do this as well, so that a gradient that needs the overwritten
    # values is refused.
    torch.autograd.graph.increment_version(values)
    change(values)
    return values


def _own(values: Tensor) -> Callable[[Tensor], None] | None:
    """What computes it in place; None where torch does."""
    single = values.dtype == torch.float32
    if not single and values.dtype != torch.bfloat16:
        return None
    kernel = elu_float32() if single else elu_bf16()
    if kernel is not None and _is_dense(values):
        return lambda dense: kernel(dense.data_ptr(), dense.numel())
    return _twin if single else None


def _is_dense(values: Tensor) -> bool:
    """Whether the memory from the first value to the last holds values only, in any order."""
    return values.is_contiguous() or values.is_contiguous(memory_format=torch.channels_last)


def _twin(values: Tensor) -> None:
    """What pbt/native/elu_float32.c computes, by the same operations."""
    x = torch.where(values < _LEAST, _LEAST, values)
    shifted = x * _PER_LN2 + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LN2_FIRST) + n * _LN2_REST
    scale = ((shifted.view(torch.int32) + 127) << 23).view(torch.float32)
    p = torch.full_like(r, 1.9875691500e-4)
    for coefficient in _POLYNOMIAL:
        p = p * r + coefficient
    p = (r * r) * p + r
    values.copy_(torch.where(values < 0.0, scale * p + (scale - 1.0), values))


class _OwnElu(torch.autograd.Function):
    """Our own computation with torch's gradient, which takes the result, not what it replaced."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, change: Callable[[Tensor], None]) -> Tensor:
        change(values)
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
