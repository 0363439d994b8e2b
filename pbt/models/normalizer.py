"""Running mean and variance of observations. They are buffers, so they travel with the weights."""

import torch
from torch import Tensor, nn

_EPSILON = 1e-8
_CLIP = 10.0


class RunningMoments(nn.Module):
    """Moments per feature over everything seen.

    They are float64, since the count outgrows float32.
    """

    count: Tensor
    mean: Tensor
    variance: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1, dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(features, dtype=torch.float64))

    def normalize(self, values: Tensor) -> Tensor:
        """[..., features] float32 -> the same with mean 0 and variance 1.

        The result is clipped at ten standard deviations.
        """
        scale = torch.rsqrt(self.variance + _EPSILON)
        return ((values - self.mean.to(values.dtype)) * scale.to(values.dtype)).clamp(-_CLIP, _CLIP)

    def sums(self, values: Tensor) -> Tensor:
        """What `merge` needs of one shard, [1 + 2 * features] float64. Sums of shards can be added.

        values  [N, features]
        """
        distance = values.to(torch.float64) - self.mean
        return torch.cat(
            [distance.new_tensor([values.shape[0]]), distance.sum(0), distance.square().sum(0)]
        )

    def merge(self, sums: Tensor) -> None:
        """Take in new values by their summed distances from the present mean.

        Chan, Golub & LeVeque 1983, with the present mean as origin.
        """
        features = self.mean.shape[0]
        added, first, second = sums[:1], sums[1 : features + 1], sums[features + 1 :]
        total = self.count + added
        if float(total) == 0.0:
            return
        shift = first / total
        self.variance.copy_((self.variance * self.count + second) / total - shift.square())
        self.mean.add_(shift)
        self.count.copy_(total)
