"""Which leaves go through convolutions, which ones images get, and how large networks may be."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pbt.config.learning import ConvLayer, ModelConfig
from pbt.envs.contract import Role
from pbt.envs.images import ImageShape
from pbt.errors import ConfigError
from pbt.models.convolutions import (
    GATES,
    MOST_FEATURES,
    activation_of,
    decided,
    default_layers,
    encoder_words,
    model_problems,
)
from pbt.models.cores import CORES
from pbt.models.encoders import ConvEncoder, FlatEncoder, ObservationEncoder
from pbt.models.policy_model import PolicyModel, build_model
from pbt.transport.slab import RoleLayout, role_layout

BOARD = spaces.Box(0, 1, (6, 7, 2), np.int8)


def of_bytes(*shape: int) -> spaces.Box:
    return spaces.Box(0, 255, shape, np.uint8)


def layout(space: spaces.Space[Any]) -> RoleLayout:
    return role_layout(Role("player", space, spaces.Discrete(3)), ("reward",), 2, 0)


def features(layers: tuple[ConvLayer, ...], height: int, width: int) -> int:
    """By a convolution that is carried out."""
    seen, channels = torch.zeros(1, 3, height, width), 3
    for layer in layers:
        seen = torch.nn.Conv2d(channels, layer.channels, layer.kernel, layer.stride)(seen)
        channels = layer.channels
    return seen.numel()


@pytest.mark.parametrize(
    ("height", "width"),
    [(24, 24), (24, 90), (36, 36), (59, 80), (60, 60), (84, 84), (210, 160), (280, 480)],
)
def test_default_convolutions_fit_every_size_and_leave_few_features(
    height: int, width: int
) -> None:
    layers = default_layers([ImageShape(height, width, 3, 2)])
    assert 1 <= features(layers, height, width) <= MOST_FEATURES


def test_images_of_84_pixels_get_the_layers_of_mnih_et_al() -> None:
    layers = default_layers([ImageShape(84, 84, 4, 2)])
    sizes = [(layer.channels, layer.kernel, layer.stride) for layer in layers]
    assert sizes == [(32, 8, 4), (64, 4, 2), (64, 3, 1)]


def test_images_of_different_sizes_share_layers_that_fit_all() -> None:
    small, large = ImageShape(24, 24, 3, 2), ImageShape(280, 480, 3, 2)
    layers = default_layers([large, small])
    assert features(layers, 24, 24) >= 1


@pytest.mark.parametrize(
    "space", [BOARD, spaces.Box(0, 1, (8, 8, 111), np.uint8), spaces.Discrete(3)]
)
def test_games_without_an_image_keep_their_networks_bit_for_bit(space: spaces.Space[Any]) -> None:
    seen = layout(space)
    config = decided(ModelConfig(hidden=(8,)), [seen])
    assert config == ModelConfig(hidden=(8,), conv=(), activation="tanh")
    now, before = build_model(seen, config, 3), build_model(seen, ModelConfig(hidden=(8,)), 3)
    assert now.state_dict().keys() == before.state_dict().keys()
    for name, tensor in now.state_dict().items():
        assert torch.equal(tensor, before.state_dict()[name])
    assert not any(isinstance(part, ConvEncoder) for part in now.encoder.parts)


def test_an_image_gets_convolutions_that_are_written_down_and_the_rest_stays_flat() -> None:
    space = spaces.Dict({"planes": BOARD, "map": of_bytes(30, 30), "screen": of_bytes(84, 84, 3)})
    config = decided(ModelConfig(), [layout(space)])
    assert config.encoder == "images"
    assert config.conv == default_layers([ImageShape(30, 30, 1, None), ImageShape(84, 84, 3, 2)])
    assert decided(config, [layout(space)]) == config
    encoder = ObservationEncoder(layout(space).leaves, config)
    kinds = dict(zip((leaf.name for leaf in layout(space).leaves), encoder.parts, strict=True))
    assert isinstance(kinds["planes"], FlatEncoder)
    assert isinstance(kinds["map"], ConvEncoder)
    assert isinstance(kinds["screen"], ConvEncoder)


def test_a_role_that_sees_no_image_shares_the_config_of_one_that_does() -> None:
    both = [layout(of_bytes(84, 84, 3)), layout(BOARD)]
    config = decided(ModelConfig(hidden=(8,)), both)
    assert not model_problems(config, both)
    assert isinstance(PolicyModel(both[1], config).encoder.parts[0], FlatEncoder)


def test_the_activation_follows_the_convolutions_and_is_written_down() -> None:
    layers = (ConvLayer(channels=4, kernel=3),)
    for config, seen, found in (
        (ModelConfig(), BOARD, "tanh"),
        (ModelConfig(), of_bytes(84, 84, 3), "relu"),
        (ModelConfig(conv=layers), BOARD, "relu"),
        (ModelConfig(encoder="mlp"), of_bytes(84, 84, 3), "tanh"),
        (ModelConfig(activation="elu"), BOARD, "elu"),
    ):
        model = decided(config, [layout(seen)])
        assert model.activation == found == activation_of(config, layout(seen).leaves)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_channels_first_and_a_single_channel_compute_the_same_as_channels_last(
    *, bfloat16: bool
) -> None:
    dtype = torch.bfloat16 if bfloat16 else torch.float32
    config = decided(ModelConfig(normalize_observations=True), [layout(of_bytes(40, 36, 3))])
    rng = np.random.default_rng(0)
    for shape, change in (((3, 40, 36), (0, 2, 3, 1)), ((40, 36), (0, 1, 2))):
        values = torch.from_numpy(rng.integers(0, 256, (2, *shape), np.uint8))
        last = values.permute(change).contiguous()
        last = last.unsqueeze(-1) if last.dim() == 3 else last
        encoders = []
        for seen in (values, last):
            made = ObservationEncoder(layout(of_bytes(*seen.shape[1:])).leaves, config, dtype)
            (part,) = made.parts
            assert isinstance(part, ConvEncoder)
            for tensor in part.parameters():
                torch.nn.init.constant_(tensor, 0.01)
            encoders.append((part, seen))
        (first, one), (second, other) = encoders
        assert torch.equal(first(one), second(other))
        assert torch.equal(first.numbers(one), second.numbers(other))


def test_what_old_configs_say_means_what_it_meant() -> None:
    text = '{"encoder": "auto", "conv": [], "activation": "relu"}'
    stored = ModelConfig.model_validate_json(text, strict=True)
    screen, planes = layout(of_bytes(84, 84, 3)), layout(BOARD)
    assert decided(stored, [screen]) == stored
    (flat,) = ObservationEncoder(screen.leaves, stored).parts
    assert isinstance(flat, FlatEncoder)
    named = ModelConfig(conv=(ConvLayer(channels=4, kernel=3),), activation="relu")
    assert decided(named, [planes]) == named
    (conv,) = ObservationEncoder(planes.leaves, named).parts
    assert isinstance(conv, ConvEncoder)
    (map_,) = ObservationEncoder(layout(of_bytes(40, 40)).leaves, named).parts
    assert isinstance(map_, FlatEncoder)


@pytest.mark.parametrize("encoder", ["conv", "images"])
def test_convolutions_that_are_asked_for_need_an_image(encoder: Any) -> None:
    with pytest.raises(ConfigError, match=f'model.encoder = "{encoder}": the observation has'):
        decided(ModelConfig(encoder=encoder), [layout(BOARD)])


@pytest.mark.parametrize(
    ("space", "config", "words"),
    [
        (of_bytes(280, 480, 3), {"conv": []}, "103,219,200 weights (403,200 inputs x 256)"),
        (of_bytes(280, 480, 3), {"conv": []}, "at most 20,000,000; set env.resize = [84, 84]"),
        (of_bytes(280, 480, 3), {"encoder": "mlp"}, 'or leave model.conv and model.encoder at "a'),
        (
            of_bytes(280, 480, 3),
            {"conv": [{"channels": 32, "kernel": 3}]},
            "give model.conv more layers or wider strides",
        ),
        (spaces.Box(-1, 1, (100_000,)), {}, "make the first of model.hidden smaller"),
        (
            spaces.Box(-1, 1, (100_000,)),
            {"hidden": [], "core": "gru", "gru_size": 512},
            "(100,000 inputs x 1,536)",
        ),
        (
            spaces.Box(-1, 1, (100_000,)),
            {"hidden": [], "core": "lstm", "lstm_size": 512},
            "(100,000 inputs x 2,048)",
        ),
        (
            of_bytes(3, 84, 84),
            {"conv": [{"channels": 8, "kernel": 8, "stride": 4}]},
            "its channels seem to lie first: set channels_last_input = false",
        ),
    ],
)
def test_a_first_layer_beyond_any_use_is_refused_with_the_fix(
    space: spaces.Space[Any], config: dict[str, Any], words: str
) -> None:
    model = decided(ModelConfig.model_validate(config), [layout(space)])
    (problem,) = model_problems(model, [layout(space), layout(space)])
    assert words in problem


def test_the_sizes_that_are_checked_are_those_that_are_built() -> None:
    space = spaces.Dict({"planes": BOARD, "at": spaces.Discrete(5), "screen": of_bytes(84, 84, 3)})
    seen = layout(space)
    config = decided(ModelConfig(hidden=(6400,)), [seen])
    built = ObservationEncoder(seen.leaves, config).features
    (problem,) = model_problems(config, [seen])
    assert f"({built:,} inputs x 6,400)" in problem


def test_a_line_says_what_becomes_of_images_and_what_changes_it() -> None:
    seen = [layout(of_bytes(280, 480, 3))]
    line = encoder_words(decided(ModelConfig(), seen), seen)
    assert "observation [280, 480, 3] to 6,272 features; model.conv changes them" in line
    assert "env.resize" in line
    small = [layout(of_bytes(84, 84, 3))]
    assert "env.resize" not in encoder_words(decided(ModelConfig(), small), small)
    assert encoder_words(decided(ModelConfig(), [layout(BOARD)]), [layout(BOARD)]) == ""


def test_the_gates_of_every_core_are_known_without_it() -> None:
    assert {"none": 0} | {name: core.GATES for name, core in CORES.items()} == GATES
