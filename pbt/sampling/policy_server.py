"""Acting for every policy of the table: gather the rows that wait, run the policy, write what it chose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.envs.contract import ScriptedAct
from pbt.errors import EngineError
from pbt.models.policy_model import PolicyModel
from pbt.seeding import action_uniforms
from pbt.transport.messages import ActionRequest, ActionsReady
from pbt.transport.slab import OBSERVATION_PREFIX, Slab
from pbt.transport.weights import PublishedWeights


class NetworkPolicy:
    """A policy with weights of its own; `published` keeps a live one fresh, None means frozen."""

    def __init__(self, model: PolicyModel, published: PublishedWeights | None = None) -> None:
        self.model, self.version = model, 0
        self._published, self._publications = published, -1

    def refresh(self) -> None:
        """Take newer weights, if there are any."""
        if self._published is not None and self._published.publications != self._publications:
            self._publications, self.version = self._published.copy_into(self.model.state_dict())


@dataclass(frozen=True)
class ScriptedPolicy:
    """A policy without a network: "random", "oneply"."""

    act: ScriptedAct


HostedPolicy = NetworkPolicy | ScriptedPolicy


class PolicyServer:
    """Hosts a table of policies, a slot of which may be attached or detached at any time between two requests."""

    def __init__(self, slabs: Sequence[Slab], policy_slots: int) -> None:
        self._slabs = tuple(slabs)
        self._policies: list[HostedPolicy | None] = [None] * policy_slots
        self._leaves = tuple(tuple(leaf.name for leaf in slab.layout.leaves) for slab in self._slabs)
        self.rows_served = 0

    def attach(self, policy: int, hosted: HostedPolicy) -> None:
        self._policies[policy] = hosted

    def detach(self, policy: int) -> None:
        self._policies[policy] = None

    def serve(self, request: ActionRequest) -> ActionsReady:
        """Act for all rows of one request with the newest published weights."""
        hosted = self._policies[request.policy]
        if hosted is None:
            raise EngineError(f"policy {request.policy} was asked for {len(request.slots)} actions but is not attached")
        self.rows_served += len(request.slots)
        if isinstance(hosted, ScriptedPolicy):
            return self._serve_scripted(hosted, request)
        hosted.refresh()
        return self._serve_network(hosted, request)

    def _gather(self, request: ActionRequest) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_], NDArray[np.float64]]:
        slab = self._slabs[request.role]
        column, at = slab.column, (request.slots, request.rows)
        observations = {name: column[OBSERVATION_PREFIX + name][at] for name in self._leaves[request.role]}
        uniforms = action_uniforms(request.keys, request.steps, len(slab.layout.head_sizes))
        return observations, column["mask"][at], uniforms

    def _serve_scripted(self, hosted: ScriptedPolicy, request: ActionRequest) -> ActionsReady:
        observations, mask, uniforms = self._gather(request)
        column = self._slabs[request.role].column
        column["actions"][request.slots, request.rows] = hosted.act(observations, mask, uniforms)
        return ActionsReady(request.policy, request.role, request.slots, request.rows, 0)

    def _serve_network(self, hosted: NetworkPolicy, request: ActionRequest) -> ActionsReady:
        observations, mask, uniforms = self._gather(request)
        column, at = self._slabs[request.role].column, (request.slots, request.rows)
        with torch.inference_mode():
            acted = hosted.model.act(
                {name: torch.from_numpy(leaf) for name, leaf in observations.items()},
                torch.from_numpy(mask),
                torch.from_numpy(column["episode_start"][at]),
                torch.from_numpy(column["live_state"][request.slots]),
                torch.from_numpy(uniforms),
                greedy=request.greedy,
            )
        column["actions"][at] = _numpy(acted.actions)
        column["log_prob"][at] = _numpy(acted.log_prob)
        column["value"][at] = _numpy(acted.value)
        column["version"][at] = hosted.version
        column["policy"][at] = request.policy
        if hosted.model.state_size:
            column["live_state"][request.slots] = _numpy(acted.state)
        return ActionsReady(request.policy, request.role, request.slots, request.rows, hosted.version)


def _numpy(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.numpy()
    return array
