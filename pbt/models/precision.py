"""Chooses the dtype that a network computes with."""

from collections.abc import Iterable

import torch

from pbt.config.learning import ModelConfig
from pbt.envs.spaces import Leaf
from pbt.models.convolutions import convolved

# Smaller images, such as boards, are computed faster than they are converted.
_LEAST_PIXELS = 32 * 32


def choose_dtype(
    word: str, config: ModelConfig, leaves: Iterable[Leaf], devices: Iterable[torch.device]
) -> torch.dtype:
    """The dtype that a word of the config stands for.

    word  "float32", "bfloat16", or "auto": bfloat16 where it pays, for convolutions over images, if
          all the devices have it
    """
    if word != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[word]
    pays = sees_images(config, leaves) and all(has_bfloat16(device) for device in devices)
    return torch.bfloat16 if pays else torch.float32


def sees_images(config: ModelConfig, leaves: Iterable[Leaf]) -> bool:
    """Whether convolutions see something larger than a board."""
    images = (convolved(leaf, config) for leaf in leaves)
    return any(image.height * image.width >= _LEAST_PIXELS for image in images if image)


def has_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 itself.

    A CPU without such instructions emulates them, slower than float32.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported())
