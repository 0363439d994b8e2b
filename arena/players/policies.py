"""The policy of a player: its network, the width of its memory, and its precision."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import pad

from arena.players.resolve import ResolvedPlayer
from pbt.algorithms.registry import frozen_rule
from pbt.config.learning import ModelConfig
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.inference.policy_server import HostedPolicy, NetworkPolicy, ScriptedPolicy
from pbt.models.acting import ActingRule
from pbt.models.policy_model import ActOutput, PolicyModel
from pbt.models.precision import choose_dtype
from pbt.models.weights import load_model_weights
from pbt.snapshots import FileSnapshotStore
from pbt.transport.slab import RoleLayout
from pbt.transport.staging import CPU


class SeatModel(PolicyModel):
    """A player's network in a slab whose column for the memory may be wider than the memory.

    Players of different sizes share a slab, and its column is as wide as the widest memory.
    """

    def __init__(
        self, layout: RoleLayout, config: ModelConfig, dtype: torch.dtype, rule: ActingRule
    ) -> None:
        super().__init__(layout, config, dtype, rule)
        self._column_width = layout.state_size

    def act(
        self,
        observations: Mapping[str, Tensor],
        mask: Tensor,
        episode_start: Tensor,
        state: Tensor,
        uniforms: Tensor,
        greedy: bool = False,
    ) -> ActOutput:
        """As `PolicyModel.act`. state: [N, column width]; the first `state_size` are the memory."""
        acted = super().act(
            observations, mask, episode_start, state[:, : self.state_size], uniforms, greedy
        )
        return acted._replace(state=pad(acted.state, (0, self._column_width - self.state_size)))


def memory_size(player: ResolvedPlayer) -> int:
    """The width of a player's recurrent state, 0 without memory."""
    return 0 if player.config is None else player.config.model.state_size


def playing_dtype(config: RunConfig, layout: RoleLayout) -> torch.dtype:
    """The precision that a player computes in: `runtime.precision`, as in its training.

    "auto" becomes the choice for a CPU. Frozen players act on the CPU, so the devices of the
    training do not matter.
    """
    return choose_dtype(config.runtime.precision, config.model, layout.leaves, (CPU,))


def load_policy(player: ResolvedPlayer, layout: RoleLayout, spec: EnvSpec) -> HostedPolicy:
    """The policy of a player.

    Raises: SnapshotError when its weights are missing or damaged, or do not fit the game.
    """
    if player.config is None or player.snapshots is None:
        return ScriptedPolicy(
            layout.actions.random_act
            if player.ref.name == "random"
            else spec.scripted[player.ref.name]
        )
    state = FileSnapshotStore(player.snapshots).load(player.ref.name)
    dtype, rule = playing_dtype(player.config, layout), frozen_rule(player.config, state)
    model = SeatModel(layout, player.config.model, dtype, rule)
    load_model_weights(model, state, f"snapshot {player.ref.name[:12]}")
    model.fix_dtype()
    return NetworkPolicy(model, player.label)
