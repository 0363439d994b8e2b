"""With which probability a network takes each action, for many observations at once."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from pbt.errors import PlayerError
from pbt.models.acting import Outputs
from pbt.models.policy_model import PolicyModel


class Answers(NamedTuple):
    """What a network says of the last row of N sequences.

    chances  [N, A] float64: the probability of each action, as it plays in a match
    best     [N] int64, the action of greedy play
    values   [N] float32, of the value head
    """

    chances: NDArray[np.float64]
    best: NDArray[np.int64]
    values: NDArray[np.float32]


def answers(
    model: PolicyModel,
    observations: Mapping[str, NDArray[np.generic]],
    legal: NDArray[np.bool_],
    starts: NDArray[np.bool_],
) -> Answers:
    """The answers of a network whose actions are one choice.

    A sequence is what one seat saw each time that it acted in a game. Shorter ones begin with rows
    of any content, in front of the one that starts.

    model         of `arena.players.policies.load_policy`, before `NetworkPolicy.settle`
    observations  leaf name -> [T, N, *shape]
    legal         [T, N, A]
    starts        [T, N], True where a game begins
    Raises: PlayerError where actions are of several parts.
    """
    if not model.actions.single_choice:
        raise PlayerError(
            f"an action is {model.actions}; expected one choice, whose probabilities can be listed"
        )
    mask = torch.from_numpy(legal)
    with torch.inference_mode():
        outputs, values = model.unroll(
            {name: torch.from_numpy(leaf) for name, leaf in observations.items()},
            mask,
            torch.from_numpy(starts),
            torch.zeros(legal.shape[1], model.state_size),
        )
        said = Outputs(outputs[-1], values[-1], mask[-1])
        chances, best = model.rule.chances(said), model.rule.best(model, said).actions[:, 0]
    return Answers(chances.numpy(), best.numpy(), said.values.numpy())
