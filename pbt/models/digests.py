"""Digests of weights as they act, by which processes find out whether they have equal ones.

A digest is 63 bits of XXH3, never 0. It tells apart weights that were mixed up; it is no protection
against a person who forges weights. None is stored: they are compared within one start.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
import xxhash
from torch import Tensor

from pbt.models.policy_model import PolicyModel
from pbt.models.weights import model_tensors

Dtypes = Mapping[str, torch.dtype]
"""The dtype in which each of a model's tensors acts."""


def digest(tensors: Mapping[str, Tensor]) -> int:
    """The digest of names, dtypes, shapes and values, of tensors on any device."""
    total = xxhash.xxh3_64()
    for name, tensor in sorted(tensors.items()):
        total.update(f"{name} {tensor.dtype} {list(tensor.shape)};".encode())
        plain = tensor.detach().cpu().contiguous().reshape(-1)
        total.update(plain.view(torch.uint8).numpy().data)
    return _number(total.intdigest())


def scripted_digest(name: str) -> int:
    """The digest that stands for a player without a network."""
    return _number(xxhash.xxh3_64_intdigest(f"scripted {name}".encode()))


def _number(digest: int) -> int:
    return digest >> 1 or 1


def acting_dtypes(model: PolicyModel) -> Dtypes:
    """The dtypes of the model's tensors in a copy of it that only acts."""
    acting = copy.deepcopy(model)
    acting.fix_dtype()
    return {name: tensor.dtype for name, tensor in acting.state_dict().items()}


def acting_digest(weights: Mapping[str, Tensor], dtypes: Dtypes) -> int:
    """The digest of the model that acts with these weights.

    weights  by the model's own names, in any dtypes; names that `dtypes` lacks keep theirs
    """
    return digest(
        {name: tensor.to(dtypes.get(name, tensor.dtype)) for name, tensor in weights.items()}
    )


@dataclass(frozen=True)
class ActingForms:
    """How the networks of a population act.

    seat_roles  name of every seat's role
    dtypes      by role
    """

    seat_roles: tuple[str, ...] = ()
    dtypes: Mapping[str, Dtypes] = field(default_factory=dict)

    def digest(self, state: Mapping[str, Tensor], role: str) -> int:
        """The digest of what acts of a learner's state or of a snapshot, for seats of a role."""
        return acting_digest(model_tensors(state), self.dtypes.get(role, {}))
