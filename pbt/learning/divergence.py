"""What to do when gradients or weights are not finite, by the numbers of the batch at hand."""

import torch
from torch import Tensor

from pbt.algorithms.batch import Batch
from pbt.models.policy_model import PolicyModel

# Networks are made for numbers around 1. From here on the numbers are the likely cause.
_LARGE = 1e4


def advice(batch: Batch | None, model: PolicyModel, shaping: Tensor) -> str:
    """The likely cause and what to change, for the end of a sentence.

    batch    None where it is not known
    shaping  [K], the weights of reward terms, times the reward scale
    """
    if batch is None:
        return "lower learning.learning_rate"
    normalized = {name for name, _, _ in model.encoder.normalizers()}
    leaves = [
        (_largest(leaf[:-1][batch.valid]), name)
        for name, leaf in batch.observations.items()
        if name not in normalized and (leaf.dtype.is_floating_point or leaf.element_size() > 1)
    ]
    size, name = max(leaves, default=(0.0, ""))
    reward = _largest(batch.rewards[batch.valid] * shaping)
    if size > _LARGE:
        return (
            f"observation leaf {name} holds numbers as large as {size:.4g}: scale them, or set "
            "model.normalize_observations = true"
        )
    if reward > _LARGE:
        return f"scaled rewards are as large as {reward:.4g}: lower learning.reward_scale"
    return (
        f"observations and scaled rewards are no larger than {max(size, reward):.4g}, so lower "
        "learning.learning_rate"
    )


def _largest(numbers: Tensor) -> float:
    """The largest magnitude, infinite where a number is not finite, 0 without numbers."""
    if numbers.numel() == 0:
        return 0.0
    return float(torch.nan_to_num(numbers.to(torch.float64).abs(), nan=torch.inf).max())
