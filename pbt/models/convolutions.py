"""Which leaves go through convolutions, what networks get by default, and their size.

Nothing here imports torch, so a config can be checked against its game at once.
"""

from collections.abc import Sequence

from pbt.config.learning import ConvLayer, ModelConfig
from pbt.envs.images import ImageShape, image_of, shaped
from pbt.envs.spaces import Leaf
from pbt.errors import ConfigError
from pbt.transport.slab import RoleLayout

# A first layer with more weights learns nothing in useful time, and fills the memory.
MOST_FIRST_WEIGHTS = 20_000_000
# Convolutions are added until an image is this many features or less.
MOST_FEATURES = 8192
# From these shorter sides on, the first layer's (kernel, stride) are those beside them. The middle
# one is that of Mnih et al. 2015, made for images of 84 x 84.
_FIRST = ((168, 8, 8), (60, 8, 4), (0, 4, 2))
_SECOND = ConvLayer(channels=64, kernel=4, stride=2)
_THIRD = ConvLayer(channels=64, kernel=3)
_FURTHER = ConvLayer(channels=64, kernel=3, stride=2)
# Gates of each core, as `pbt.models.cores.CORES` has them, which import torch.
GATES = {"none": 0, "gru": 3, "lstm": 4}
# Larger images are trained on much faster when `env.resize` makes them smaller.
_LARGE = 128 * 128


def convolved(leaf: Leaf, config: ModelConfig) -> ImageShape | None:
    """The image that the convolutions take this leaf for, None where it goes through none."""
    if leaf.kind != "box" or config.encoder == "mlp" or not config.conv:
        return None
    if config.encoder == "images" or config.conv == "auto":
        return image_of(leaf, channels_last=config.channels_last_input)
    return shaped(leaf.shape, 2 if config.channels_last_input else 0) if _rank(leaf) == 3 else None


def measured_apart(leaves: Sequence[Leaf], config: ModelConfig) -> tuple[Leaf, ...]:
    """The measurements of a role that go through `config.measurement_hidden`.

    These are all leaves beside an image; none where there is no image, or nothing beside one.
    """
    beside = tuple(leaf for leaf in leaves if convolved(leaf, config) is None)
    return beside if config.measurement_hidden and len(beside) < len(leaves) else ()


def _rank(leaf: Leaf) -> int:
    return len(leaf.shape)


def activation_of(config: ModelConfig, leaves: Sequence[Leaf]) -> str:
    """The name of the activation, "auto" decided by whether a leaf goes through convolutions."""
    if config.activation != "auto":
        return config.activation
    return "relu" if any(convolved(leaf, config) for leaf in leaves) else "tanh"


def layers_for(config: ModelConfig, image: ImageShape) -> tuple[ConvLayer, ...]:
    """The config's convolutions; "auto": those of a game whose only image is this one."""
    return default_layers([image]) if config.conv == "auto" else config.conv


def default_layers(images: Sequence[ImageShape]) -> tuple[ConvLayer, ...]:
    """The convolutions that images get where the config names none: they fit all of them.

    They follow Mnih et al. 2015, "Human-level control through deep reinforcement learning". Small
    images get a smaller first kernel, large ones wider strides and further layers.
    """
    shorter = min(min(image.height, image.width) for image in images)
    kernel, stride = next((kernel, stride) for least, kernel, stride in _FIRST if shorter >= least)
    first = ConvLayer(channels=32, kernel=kernel, stride=stride)
    layers: tuple[ConvLayer, ...] = (first, _SECOND, _THIRD)
    while max(_features(image, layers) for image in images) > MOST_FEATURES:
        longer = (*layers[:-1], _FURTHER) if layers[-1] == _THIRD else (*layers, _FURTHER)
        if min(min(_size(image, longer)) for image in images) < 1:
            break
        layers = longer
    return layers


def decided(config: ModelConfig, layouts: Sequence[RoleLayout]) -> ModelConfig:
    """The config with "auto" decided by the images of the game: convolutions and activation.

    layouts  of all roles
    Raises: ConfigError when layers are wanted for images, or for what stands beside them, and
    there is none.
    """
    leaves = [leaf for layout in layouts for leaf in layout.leaves]
    config = _with_layers(config, leaves)
    apart = (measured_apart(layout.leaves, config) for layout in layouts)
    if config.measurement_hidden and not any(apart):
        shapes = ", ".join(f"{leaf.name} {leaf.shape}" for leaf in leaves)
        problem = (
            f"model.measurement_hidden = {list(config.measurement_hidden)}: the observation has "
            f"{shapes}; expected numbers beside an image; use hidden alone"
        )
        raise ConfigError("model", [problem])
    return config.model_copy(update={"activation": activation_of(config, leaves)})


def _with_layers(config: ModelConfig, leaves: Sequence[Leaf]) -> ModelConfig:
    last = config.channels_last_input
    images = [image for leaf in leaves if (image := image_of(leaf, channels_last=last))]
    wanted = config.encoder == "images" or (config.encoder == "conv" and config.conv == "auto")
    if wanted and not images:
        raise ConfigError("model", [no_image(config, leaves)])
    if config.conv != "auto":
        return config
    if not images or config.encoder == "mlp":
        return config.model_copy(update={"conv": ()})
    return config.model_copy(update={"encoder": "images", "conv": default_layers(images)})


def no_image(config: ModelConfig, leaves: Sequence[Leaf]) -> str:
    """The problem of a config that wants convolutions for a game without an image."""
    shapes = ", ".join(f"{leaf.name} {leaf.shape}" for leaf in leaves)
    named = config.encoder == "conv" and config.conv != "auto"
    expected = "a leaf of rank 3" if named else "bytes or bounded floats with sides of 24 or more"
    return (
        f'model.encoder = "{config.encoder}": the observation has {shapes}; expected {expected}; '
        'use encoder = "mlp"'
    )


def model_problems(config: ModelConfig, layouts: Sequence[RoleLayout]) -> list[str]:
    """What speaks against training these networks, one line each.

    config   decided
    layouts  of all roles
    """
    problems: list[str] = []
    for layout in layouts:
        try:
            sizes = _first_layers(config, layout)
        except ConfigError as error:
            problems += error.problems
            continue
        problems += [
            f"model: the first layer would have {inputs * width:,} weights ({inputs:,} inputs "
            f"x {width:,}); expected at most {MOST_FIRST_WEIGHTS:,}; "
            f"{_advice(config, layout.leaves)}"
            for inputs, width in sizes
            if inputs * width > MOST_FIRST_WEIGHTS
        ]
    return list(dict.fromkeys(problems))


def _advice(config: ModelConfig, leaves: Sequence[Leaf]) -> str:
    if not any(image_of(leaf) for leaf in leaves):
        return "make the first of model.hidden smaller, or show the networks less"
    layers = (
        'or leave model.conv and model.encoder at "auto"'
        if config.encoder == "mlp" or not config.conv
        else "or give model.conv more layers or wider strides"
    )
    return f"set env.resize = [84, 84] or env.grey = true, {layers}"


def _first_layers(config: ModelConfig, layout: RoleLayout) -> list[tuple[int, int]]:
    """(inputs, outputs) of each first layer behind the encoders.

    Raises: ConfigError as `_leaf_features`.
    """
    apart = measured_apart(layout.leaves, config)
    inputs = sum(_leaf_features(leaf, config) for leaf in layout.leaves if leaf not in apart)
    layers: list[tuple[int, int]] = []
    if apart:
        own = sum(_leaf_features(leaf, config) for leaf in apart)
        layers.append((own, config.measurement_hidden[0]))
        inputs += 0 if config.hidden else config.measurement_hidden[-1]
    behind = GATES[config.core] * config.memory_size or layout.actions.outputs + 1
    return [(inputs, config.hidden[0] if config.hidden else behind), *layers]


def _leaf_features(leaf: Leaf, config: ModelConfig) -> int:
    """Features of an encoded leaf. Raises: ConfigError for layers that leave nothing of it."""
    if leaf.kind == "onehot":
        return sum(leaf.sizes)
    image = convolved(leaf, config)
    if image is None:
        features = 1
        for side in leaf.shape:
            features *= side
        return features
    layers = layers_for(config, image)
    check_fit(leaf, image, layers)
    return _features(image, layers)


def check_fit(leaf: Leaf, image: ImageShape, layers: Sequence[ConvLayer]) -> None:
    """Raises: ConfigError for convolutions that leave nothing of their image."""
    for index in range(len(layers)):
        height, width = _size(image, layers[: index + 1])
        if height >= 1 and width >= 1:
            continue
        found = image_of(leaf)
        first = found is not None and found.channel_axis == 0 and image.channel_axis == 2
        advice = (
            "its channels seem to lie first: set channels_last_input = false"
            if first
            else "use smaller kernels or padding"
        )
        raise ConfigError(
            "model",
            [
                (
                    f"model.conv: layer {index} leaves {height} x {width} of observation leaf "
                    f"{leaf.name} with shape {leaf.shape}; expected at least 1 x 1; {advice}"
                )
            ],
        )


def _size(image: ImageShape, layers: Sequence[ConvLayer]) -> tuple[int, int]:
    """(height, width) behind the layers; less than 1 where they do not fit."""
    sides = [image.height, image.width]
    for layer in layers:
        sides = [(side + 2 * layer.padding - layer.kernel) // layer.stride + 1 for side in sides]
    return sides[0], sides[1]


def _features(image: ImageShape, layers: Sequence[ConvLayer]) -> int:
    height, width = _size(image, layers)
    return height * width * layers[-1].channels


def encoder_words(config: ModelConfig, layouts: Sequence[RoleLayout]) -> str:
    """A line that says what becomes of the images, and which keys change it; "" without images.

    config  decided
    """
    if config.encoder != "images" or config.conv == "auto":
        return ""
    leaves = dict.fromkeys(leaf for layout in layouts for leaf in layout.leaves)
    images = [(leaf, image) for leaf in leaves if (image := convolved(leaf, config))]
    shown = ", ".join(
        f"{leaf.name} {list(leaf.shape)} to {_features(image, config.conv):,} features"
        for leaf, image in images
    )
    kernels = ", ".join(
        f"{layer.channels} of {layer.kernel}x{layer.kernel} by {layer.stride}"
        for layer in config.conv
    )
    large = any(image.height * image.width > _LARGE for _, image in images)
    smaller = ", env.resize and env.grey make images smaller, which saves time and memory" * large
    return f"convolutions ({kernels}) take {shown}; model.conv changes them{smaller}"
