"""Encoders: they turn the leaves of an observation into one feature vector.

Every leaf is made a vector: one-hot for indices, convolutions for images (`convolutions.py` says
for which), else flattened. The vectors are concatenated, those of measurements by themselves where
they have layers of their own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from pbt.config.learning import ModelConfig
from pbt.envs.images import ImageShape
from pbt.envs.spaces import Leaf
from pbt.errors import ConfigError
from pbt.models.activations import ACTIVATIONS
from pbt.models.convolutions import (
    activation_of,
    check_fit,
    convolved,
    layers_for,
    measured_apart,
    no_image,
)
from pbt.models.normalizer import RunningMoments
from pbt.models.pixels import Normal, block_side, prepare, weight_in_blocks
from pbt.models.products import convolve

# Added to the variance of a pixel, so that one that never changes counts as varying by a few grey
# levels.
_LEAST_VARIANCE = 1e-4
# Integer bounds beyond 16 bits mean "any integer", and give no scale.
_WIDEST_SCALE = 65535.0


def integer_scale(leaf: Leaf) -> float:
    """What an integer leaf is multiplied by: 1 / the largest magnitude of its bounds.

    1 for floats, 0/1 planes and unbounded integers.
    """
    largest = max(abs(leaf.low), abs(leaf.high))
    return 1.0 / largest if leaf.dtype.kind in "iu" and 1.0 < largest <= _WIDEST_SCALE else 1.0


LayerT = TypeVar("LayerT", bound=nn.Module)
Layer = tuple[Tensor, Tensor, int, int]
"""(weight, bias, stride, padding)."""


class FlatEncoder(nn.Module):
    """[N, *shape] -> [N, features]: scaled, flattened, normalised when asked.

    observed_rows  this many rows of a batch are enough for the statistics; None: all
    """

    observed_rows: int | None = None

    def __init__(self, leaf: Leaf, normalize: bool) -> None:
        super().__init__()
        self._scale = integer_scale(leaf)
        self.features = int(torch.Size(leaf.shape).numel())
        self.moments = RunningMoments(self.features) if normalize else None

    def numbers(self, values: Tensor) -> Tensor:
        """The values before normalisation, [N, features] float32."""
        flat = values.reshape(values.shape[0], self.features).to(torch.float32)
        return flat if self._scale == 1.0 else flat * self._scale

    def forward(self, values: Tensor) -> Tensor:
        flat = self.numbers(values)
        return flat if self.moments is None else self.moments.normalize(flat)


class OneHotEncoder(nn.Module):
    """[N, k] indices -> [N, sum of sizes]."""

    moments: None = None

    def __init__(self, leaf: Leaf) -> None:
        super().__init__()
        self.features = sum(leaf.sizes)
        sizes = torch.tensor(leaf.sizes)
        self.register_buffer("_offsets", sizes.cumsum(0) - sizes, persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        offsets = self.get_buffer("_offsets")
        return torch.zeros(values.shape[0], self.features, device=values.device).scatter_(
            1, values + offsets, 1.0
        )


class ConvEncoder(nn.Module):
    """[N, H, W, C] -> convolutions, each with an activation -> [N, features].

    The features are `channels` times `places`, those of a channel one behind the other. Images may
    also come as [N, C, H, W] or [N, H, W]. In memory their channels lie last, which is what the
    convolutions are fastest on. When asked, every pixel of every channel is normalised by
    statistics of its own: what stands still before the camera goes, what moves stays.
    """

    observed_rows = 32

    def __init__(
        self,
        leaf: Leaf,
        image: ImageShape,
        config: ModelConfig,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """An encoder whose weights are to be set.

        image  what the convolutions take the leaf for
        dtype  the convolutions are computed in it
        """
        super().__init__()
        self._scale, self._dtype = integer_scale(leaf), dtype
        self._activation = ACTIVATIONS[activation_of(config, (leaf,))]
        height, width, channels, self._channel_axis = image
        convolutions = layers_for(config, image)
        check_fit(leaf, image, convolutions)
        # Float32 gains nothing from blocks.
        self._side = (
            block_side(convolutions[0], height, width, channels) if dtype == torch.bfloat16 else 1
        )
        self.moments = (
            RunningMoments(height * width * channels) if config.normalize_observations else None
        )
        self._scales_weights = self.moments is None and self._scale != 1.0
        self._packed: tuple[Normal | None, list[Layer]] | None = None
        layers: list[nn.Conv2d] = []
        for layer in convolutions:
            height, width = (
                (n + 2 * layer.padding - layer.kernel) // layer.stride + 1 for n in (height, width)
            )
            layers.append(
                blank(
                    nn.Conv2d, channels, layer.channels, layer.kernel, layer.stride, layer.padding
                )
            )
            channels = layer.channels
        self.layers, self._convolutions = nn.ModuleList(layers), tuple(layers)
        self.channels, self.places = channels, height * width

    @property
    def features(self) -> int:
        return self.channels * self.places

    def numbers(self, values: Tensor) -> Tensor:
        """The values before normalisation, [N, H * W * C] float32, channels last."""
        return self._images(values).flatten(1).to(torch.float32) * self._scale

    def _images(self, values: Tensor) -> Tensor:
        """The images with their channels last, [N, H, W, C]."""
        if self._channel_axis == 2:
            return values
        return values.unsqueeze(-1) if self._channel_axis is None else values.permute(0, 2, 3, 1)

    def forward(self, values: Tensor, *, as_they_lie: bool = False) -> Tensor:
        """See the class.

        as_they_lie: all channels of a place one behind the other, which copies nothing where
                     channels lie last
        """
        images = self._images(values)
        images = images.contiguous() if self._channel_axis == 0 else images
        normal, layers = self._packed or (self._normal(), self._computed())
        images = prepare(images, self._dtype, normal, self._block_side())
        for weight, bias, stride, padding in layers:
            images = convolve(images, weight, bias, stride, padding, self._activation)
        return images.permute(0, 2, 3, 1).flatten(1) if as_they_lie else flatten(images)

    def pack(self) -> None:
        """Compute the numbers that pixels are normalised by, and lay the weights out.

        Call it after they were changed or moved; from then on changes are not seen.
        """
        with torch.no_grad():
            self._packed = self._normal(), self._computed()

    def _block_side(self) -> int:
        """The side of the blocks that the first layer reads; a GPU reads pixels as they come."""
        return self._side if self._convolutions[0].weight.is_cpu else 1

    def _normal(self) -> Normal | None:
        """(factor, shift) of the normalisation, for the values as they come.

        (x * scale - mean) / deviation = x * factor + shift.
        """
        if self.moments is None:
            return None
        inverse = torch.rsqrt(self.moments.variance + _LEAST_VARIANCE)
        return (inverse * self._scale).float(), (-self.moments.mean * inverse).float()

    def _computed(self) -> list[Layer]:
        """The layers as they are computed with."""
        layers: list[Layer] = []
        for index, layer in enumerate(self._convolutions):
            assert layer.bias is not None
            weight, stride = layer.weight, layer.stride[0]
            if index == 0:
                # The few weights are scaled instead of all pixels. Bytes are exact in bfloat16,
                # 255ths of them are not.
                weight = weight * self._scale if self._scales_weights else weight
                side = self._block_side()
                weight, stride = weight_in_blocks(weight, side), stride // side
            weight = weight.to(self._dtype, memory_format=torch.channels_last)
            layers.append((weight, layer.bias.to(self._dtype), stride, int(layer.padding[0])))
        return layers

    def fix_dtype(self) -> None:
        """Keep the weights in the dtype that they are computed with, for a model that only acts.

        The weights of a first layer that are scaled before each use keep theirs.
        """
        for layer in self._convolutions[int(self._scales_weights) :]:
            layer.to(self._dtype)
            layer.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def flatten(images: Tensor) -> Tensor:
    """[N, C, H, W] -> [N, C * H * W].

    Where channels lie last in memory the gradient comes back so as well. A plain flatten gives it
    back with channels first, and the activation before it then takes forty times as long to combine
    it with its own result.
    """
    if images.is_contiguous() or not images.requires_grad:
        return images.flatten(1)
    return _Flatten.apply(images)  # type: ignore[no-any-return, no-untyped-call]


class _Flatten(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor) -> Tensor:
        ctx.shape = images.shape
        return images.flatten(1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.view(ctx.shape).contiguous(memory_format=torch.channels_last)


def blank(kind: type[LayerT], *sizes: int) -> LayerT:
    """A layer whose weights are to be set.

    Torch's own initialisation draws from the global random state, which is put back.
    `nn.utils.skip_init` would draw nothing, but its first call loads sympy: 0.3 s and 40 MB in
    every process.
    """
    with torch.random.fork_rng(devices=()):
        return kind(*sizes)


class ObservationEncoder(nn.Module):
    """All leaves of a role, concatenated in the order of the layout.

    features           of the leaves that go to the hidden layers
    measured_features  of those that have layers of their own, 0 where none have
    image_features     (channels, places) where an image is all that is seen, else None
    """

    def __init__(
        self, leaves: Sequence[Leaf], config: ModelConfig, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self._dtype = dtype
        if config.encoder == "conv" and not any(convolved(leaf, config) for leaf in leaves):
            raise ConfigError("model", [no_image(config, leaves)])
        parts = [_encoder(leaf, config, dtype) for leaf in leaves]
        self.parts = nn.ModuleList(parts)
        self._pairs = tuple((leaf.name, part) for leaf, part in zip(leaves, parts, strict=True))
        apart = {leaf.name for leaf in measured_apart(leaves, config)}
        self._joined = tuple(pair for pair in self._pairs if pair[0] not in apart)
        self._apart = tuple(pair for pair in self._pairs if pair[0] in apart)
        self.features = sum(part.features for _, part in self._joined)
        self.measured_features = sum(part.features for _, part in self._apart)
        image = parts[0] if len(parts) == 1 and isinstance(parts[0], ConvEncoder) else None
        self.image_features = None if image is None else (image.channels, image.places)

    def forward(self, observations: Mapping[str, Tensor], *, as_they_lie: bool = False) -> Tensor:
        """The features, [N, features] in the dtype given.

        observations  leaf name -> [N, *shape]
        as_they_lie   of an image alone: its places one behind the other, each with all channels
        """
        if as_they_lie:
            ((name, part),) = self._joined
            only: Tensor = part(observations[name], as_they_lie=True)
            return only.to(self._dtype)
        features = [part(observations[name]).to(self._dtype) for name, part in self._joined]
        return features[0] if len(features) == 1 else torch.cat(features, 1)

    def measured(self, observations: Mapping[str, Tensor]) -> Tensor:
        """As `forward`, for the leaves with layers of their own: [N, measured_features]."""
        features = [part(observations[name]).to(self._dtype) for name, part in self._apart]
        return features[0] if len(features) == 1 else torch.cat(features, 1)

    def normalizers(self) -> list[tuple[str, FlatEncoder | ConvEncoder, RunningMoments]]:
        """(name, encoder, statistics) of the leaves that are normalised."""
        return [
            (name, part, part.moments)
            for name, part in self._pairs
            if isinstance(part, FlatEncoder | ConvEncoder) and part.moments is not None
        ]


def _encoder(
    leaf: Leaf, config: ModelConfig, dtype: torch.dtype
) -> FlatEncoder | OneHotEncoder | ConvEncoder:
    if leaf.kind == "onehot":
        return OneHotEncoder(leaf)
    if image := convolved(leaf, config):
        return ConvEncoder(leaf, image, config, dtype)
    return FlatEncoder(leaf, config.normalize_observations)
