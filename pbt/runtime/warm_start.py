"""Members of a new population begin with weights of another one, before the first frame.

Clocks, versions, hyperparameters and scores are those of a beginning; only what was learned comes
from elsewhere.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from pbt.algorithms.registry import new_algorithm
from pbt.config.schema import RunConfig
from pbt.learning.optimizer import OPTIMIZER_PREFIXES, new_optimizer
from pbt.learning.return_scale import RETURNS
from pbt.models.policy_model import PolicyModel
from pbt.models.weights import MODEL_PREFIX, RULE_PREFIX, check_shapes, misfits, policy_tensors
from pbt.population.interfaces import SnapshotStore
from pbt.runtime.engine import Engine
from pbt.transport.slab import RoleLayout


def begin_with(
    engine: Engine, name: str, store: SnapshotStore, snapshot_id: str, *, optimizer: bool
) -> None:
    """Have a member begin with a snapshot's weights; its first snapshot names the one it is from.

    Call it before `Controller.start`. optimizer: with the optimiser's moments and the scale of
    returns. Raises: SnapshotError when the weights are lost or do not fit.
    """
    handle, member = engine.scheduler.pipelines[name].handle, engine.controller.members[name]
    own = handle.state()
    taken = learned_part(store.load(snapshot_id), optimizer=optimizer)
    if RETURNS not in own:
        taken.pop(RETURNS, None)
    expected = learned_part(own, optimizer=optimizer)
    if RETURNS not in taken:  # its training divided no returns: they are measured anew
        expected.pop(RETURNS, None)
    check_shapes(expected, taken, f"snapshot {snapshot_id[:12]}")
    state = {**own, **taken}
    handle.load(state)
    first = member.freeze(store, "initial", policy_tensors(state), frames=0, version=0)
    # A member that begins as the same member of another population began has the same snapshot.
    member.newest_snapshot = None if first.snapshot_id == snapshot_id else snapshot_id


def learned_part(state: Mapping[str, Tensor], *, optimizer: bool) -> dict[str, Tensor]:
    """What a beginner takes of a learner's state, or of a snapshot; it explores as a beginner.

    optimizer: with the optimiser's moments and the scale of returns
    """
    taken = {
        name: tensor
        for name, tensor in policy_tensors(state).items()
        if not name.startswith(RULE_PREFIX)
    }
    if optimizer:
        taken |= {
            name: tensor
            for name, tensor in state.items()
            if name == RETURNS or name.startswith(OPTIMIZER_PREFIXES)
        }
    return taken


def misfits_of(
    config: RunConfig,
    member: str,
    layout: RoleLayout,
    found: Mapping[str, Tensor],
    *,
    optimizer: bool,
) -> list[str]:
    """The tensors of a snapshot that do not fit the learner of a member, in words.

    layout     of the member's role
    found      the snapshot's tensors
    optimizer  the optimiser's moments must fit, too
    """
    taken = learned_part(found, optimizer=optimizer)
    taken.pop(RETURNS, None)
    # Networks that act by other rules learn other things.
    taken |= {name: tensor for name, tensor in found.items() if name.startswith(RULE_PREFIX)}
    return misfits(_expected(config, member, layout, optimizer=optimizer), taken)


def _expected(
    config: RunConfig, member: str, layout: RoleLayout, *, optimizer: bool
) -> dict[str, Tensor]:
    """The tensors that a member takes, in the order of its network, without memory for them."""
    with torch.device("meta"):
        rule = new_algorithm(config, member).rule(explores=True)
        model = PolicyModel(layout, config.model, rule=rule)
        moments = torch.empty(sum(one.numel() for one in model.parameters()))
        own = new_optimizer(config.learning, moments)
        named = {own.PREFIX + name: tensor for name, tensor in own.tensors().items()}
    tensors = {MODEL_PREFIX + name: tensor for name, tensor in model.state_dict().items()}
    return {**tensors, **(named if optimizer else {})}
