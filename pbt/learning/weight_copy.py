"""PBT's copy, its exploit step: one learner takes over what another one has learned.

`pbt.population.pbt_decision` decides which member copies which; the learner of the copying member
calls `copy_weights` with the donor's stored state.
"""

from collections.abc import Mapping

from torch import Tensor

from pbt.learning.optimizer import Optimizer
from pbt.learning.return_scale import ReturnScale
from pbt.models.policy_model import PolicyModel
from pbt.models.weights import MODEL_PREFIX


def copy_weights(
    model: PolicyModel,
    optimizer: Optimizer,
    returns: ReturnScale | None,
    state: Mapping[str, Tensor],
) -> None:
    """Put weights, normaliser statistics and optimiser moments of a learner's state in place.

    The scale of returns goes with them, since the value head predicts in its unit.

    returns  None where returns are not normalised
    state  the donor's, with the shapes of this model; its clocks are left out
    """
    model.load_state_dict(_part(state, MODEL_PREFIX))
    optimizer.load_state(_part(state, optimizer.PREFIX))
    if returns is not None:
        returns.load(state, own=False)


def _part(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in state.items()
        if name.startswith(prefix)
    }
