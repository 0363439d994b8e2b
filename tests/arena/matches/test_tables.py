"""Frozen players compute as their training did."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from arena.matches.returns import evaluate_player
from arena.players.load import LoadedPlayer
from arena.players.policies import load_policy, playing_dtype
from arena.players.resolve import ResolvedPlayer, resolve_players
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec, Role
from pbt.inference.policy_server import NetworkPolicy
from pbt.models.policy_model import ActOutput, PolicyModel
from pbt.models.precision import has_bfloat16
from pbt.runtime.assembly import frozen_model
from pbt.snapshots import FileSnapshotStore
from pbt.transport.slab import RoleLayout, role_layout
from pbt.transport.staging import CPU
from tests.arena.tiny_populations import train, with_memory

SIZE, WIDER, ROWS = 8, 12, 32
LAYER = {"channels": 4, "kernel": 3, "stride": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for word in ("float32", "bfloat16"):
        train(
            folder,
            word,
            {**with_memory(SIZE), "runtime": {"placement": "serial", "precision": word}},
        )
    return folder


def layout_of(env: EnvSpec, state_size: int) -> RoleLayout:
    game = env.make()
    (role,), terms = game.roles, game.reward_terms
    game.close()
    return role_layout(role, terms, 1, state_size)


def acted(model: PolicyModel, layout: RoleLayout) -> ActOutput:
    """For made-up rows, with a memory, in a column as wide as the layout says."""
    random = torch.Generator().manual_seed(1)
    observations = {
        leaf.name: torch.randint(0, 2, (ROWS, *leaf.shape), generator=random).to(torch.float32)
        for leaf in layout.leaves
    }
    state = torch.nn.functional.pad(
        torch.randn(ROWS, SIZE, generator=random), (0, layout.state_size - SIZE)
    )
    mask, start = (
        torch.ones(ROWS, layout.actions.mask_size, dtype=torch.bool),
        torch.zeros(ROWS, dtype=torch.bool),
    )
    with torch.inference_mode():
        return model.act(
            observations,
            mask,
            start,
            state,
            torch.rand(ROWS, layout.actions.width, generator=random, dtype=torch.float64),
        )


def played(player: ResolvedPlayer, env: EnvSpec) -> ActOutput:
    """As it acts in an evaluation or a match, beside a player with a wider memory."""
    layout = layout_of(env, WIDER)
    hosted = load_policy(player, layout, env)
    assert isinstance(hosted, NetworkPolicy)
    return acted(hosted.model, layout)


@pytest.mark.parametrize("word", ["float32", "bfloat16"])
def test_a_snapshot_acts_as_it_does_in_training(data: Path, word: str) -> None:
    env, (player,) = resolve_players([f"{word}/m0"], data)
    assert player.config is not None and player.snapshots is not None
    layout = layout_of(env, SIZE)
    trained = acted(
        frozen_model(layout, player.config, FileSnapshotStore(player.snapshots), player.ref.name),
        layout,
    )
    found = played(player, env)
    for name, column in trained.columns.items():
        assert torch.equal(found.columns[name], column)
    assert torch.equal(found.state[:, :SIZE], trained.state) and not found.state[:, SIZE:].any()


def test_the_two_precisions_are_not_the_same_numbers(data: Path) -> None:
    """Else the test above would say nothing."""
    env, (player,) = resolve_players(["bfloat16/m0"], data)
    assert player.config is not None and player.snapshots is not None
    exact = player.config.model_copy(
        update={"runtime": player.config.runtime.model_copy(update={"precision": "float32"})}
    )
    layout = layout_of(env, SIZE)
    precise = acted(
        frozen_model(layout, exact, FileSnapshotStore(player.snapshots), player.ref.name), layout
    )
    assert not torch.equal(played(player, env).columns["value"], precise.columns["value"])


def test_equal_seeds_give_equal_evaluations_in_bfloat16(data: Path) -> None:
    env, (player,) = resolve_players(["bfloat16/m0"], data)
    once, again = (evaluate_player(player, env, episodes=20, seed=3) for _ in range(2))
    assert (once.returns, once.steps) == (again.returns, again.steps)


def test_a_loaded_player_computes_likewise(data: Path) -> None:
    env, (player,) = resolve_players(["bfloat16/m0"], data)
    hosted = LoadedPlayer(player, env)._hosted
    assert isinstance(hosted, NetworkPolicy) and hosted.model.dtype == torch.bfloat16


def image_layout(pixels: int) -> RoleLayout:
    screen: gymnasium.Space[Any] = spaces.Box(0, 255, (pixels, pixels, 3), np.uint8)
    return role_layout(Role("player", screen, spaces.Discrete(2)), ("reward",), 1, 0)


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda:7"])
def test_auto_is_decided_by_this_machine_wherever_it_was_trained(device: str) -> None:
    """A population trained on a GPU can be evaluated on a machine without one."""
    runtime = {"inference_device": device, "learner_device": device}
    config = RunConfig.model_validate(
        {"env": {"name": "doom"}, "model": {"conv": [LAYER]}, "runtime": runtime}
    )
    assert playing_dtype(config, image_layout(64)) == (
        torch.bfloat16 if has_bfloat16(CPU) else torch.float32
    )
    assert playing_dtype(config, image_layout(8)) == torch.float32
