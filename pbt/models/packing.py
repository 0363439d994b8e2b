"""Linear layers whose weights lie in memory as the CPU's product reads them.

In bfloat16 torch lays the weights of a linear layer out anew in every call, which for few rows
takes as long as the product or longer. Here they are laid out once, by the call that torch's own
compiler uses for that.
"""

import torch
from torch import Tensor

from pbt.models.precision import has_bfloat16


def can_pack(weight: Tensor) -> bool:
    """Whether packing gains anything.

    It does for bfloat16 on a CPU that has it, with a torch that has the calls.
    """
    if weight.dtype != torch.bfloat16 or not weight.is_cpu or not has_bfloat16(weight.device):
        return False
    return hasattr(torch.ops.mkldnn, "_reorder_linear_weight")


class PackedLinear:
    """`torch.nn.functional.linear` with weights as they were when it was made, bit for bit.

    weight  [to, from] bfloat16
    bias    [to] bfloat16
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
        self._bias = bias.detach().clone()

    def __call__(self, inputs: Tensor) -> Tensor:
        """[N, from] bfloat16 -> [N, to]."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            inputs, self._weight, self._bias, "none", [], ""
        )
        return product


def release(weight: Tensor) -> None:
    """Free the weight's memory. It cannot be used any more."""
    weight.data = weight.data.new_empty(0)
