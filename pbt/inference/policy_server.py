"""A policy server acts for a table of policies: networks and scripted players.

For every request it gathers the rows from the slab, runs the policy and writes the actions back.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.envs.contract import ScriptedAct
from pbt.errors import EngineError
from pbt.models.digests import digest
from pbt.models.policy_model import PolicyModel, act_together
from pbt.models.weights import MODEL_PREFIX
from pbt.seeding import action_uniforms
from pbt.transport.messages import ActionRequest, ActionsReady, joined
from pbt.transport.slab import OBSERVATION_PREFIX, RoleLayout, Slab, flat_rows
from pbt.transport.staging import CPU, Form, Staging, staging_for
from pbt.transport.weights import PublishedWeights

# The step under which the numbers of a whole game are drawn; no game is as long.
_OF_GAME = np.uint64(2**63)


class NetworkPolicy:
    """A policy with a network. A live one takes new weights as they are published.

    name     of the member or snapshot, for errors
    version  of the weights, 0 = frozen
    weights  their digest: of frozen ones and of those that the learner attests, else 0
    """

    def __init__(
        self, model: PolicyModel, name: str, published: PublishedWeights | None = None
    ) -> None:
        """published: the learner's state, of which the model's part is read; None = frozen."""
        self.model, self.name, self.version, self.weights = model, name, 0, 0
        self._published, self._publications = published, -1

    def settle(self, device: torch.device) -> None:
        """Move the network to the device where it acts.

        A frozen network keeps only the packed form of its weights.
        """
        self.model.to(device)
        if self._published is None:
            self.weights = digest(self.model.state_dict())
        self.model.pack()
        if self._published is None:
            self.model.keep_packed()

    def refresh(self) -> None:
        """Take the published weights, if they are new."""
        if self._published is not None and self._published.publications != self._publications:
            weights = {
                MODEL_PREFIX + name: tensor for name, tensor in self.model.state_dict().items()
            }
            self._publications, self.version, attested = self._published.copy_into(weights)
            self.weights = digest(self.model.state_dict()) if attested else 0
            self.model.pack()


@dataclass(frozen=True)
class ScriptedPolicy:
    """A policy without a network, such as "random" or "oneply".

    weights  what stands for the digest of weights
    """

    act: ScriptedAct
    weights: int = 0


HostedPolicy = NetworkPolicy | ScriptedPolicy


class PolicyServer:
    """Hosts a table of policies. Policies may be attached and detached between two requests.

    rows_served  number of rows acted for, by any policy
    forwards     number of forward passes of a network
    """

    def __init__(
        self, slabs: Sequence[Slab], policy_slots: int, device: torch.device = CPU
    ) -> None:
        self._slabs = tuple(slabs)
        self._policies: list[HostedPolicy | None] = [None] * policy_slots
        self._leaves = tuple(
            tuple(leaf.name for leaf in slab.layout.leaves) for slab in self._slabs
        )
        self._device, self._staging = device, staging_for(device)
        self.rows_served = self.forwards = 0

    def attach(self, policy: int, hosted: HostedPolicy) -> None:
        """Host a policy; a network moves to the server's device."""
        if isinstance(hosted, NetworkPolicy):
            hosted.settle(self._device)
        self._policies[policy] = hosted

    def detach(self, policy: int) -> None:
        self._policies[policy] = None

    def serve(self, request: ActionRequest) -> ActionsReady:
        """`serve_all` of one request."""
        (ready,) = self.serve_all([request])
        return ready

    def serve_all(self, requests: Sequence[ActionRequest]) -> list[ActionsReady]:
        """Act for all rows of these requests, with the newest published weights.

        Networks that `act_together` do so, which is cheaper where many have few rows. Returns the
        answers in the order of the requests. Raises: EngineError when a policy is not attached, or
        a network computes no numbers.
        """
        answers: dict[int, ActionsReady] = {}
        networks: dict[object, list[tuple[int, NetworkPolicy]]] = {}
        for index, request in enumerate(requests):
            hosted = self._hosted(request)
            if isinstance(hosted, ScriptedPolicy):
                answers[index] = self._serve_scripted(hosted, request)
                continue
            hosted.refresh()
            joins = self._staging is None and hosted.model.acts_with_others
            key = (request.role, request.greedy) if joins else index
            networks.setdefault(key, []).append((index, hosted))
        for own in networks.values():
            served = self._serve_networks(
                [hosted for _, hosted in own], [requests[index] for index, _ in own]
            )
            answers.update(zip((index for index, _ in own), served, strict=True))
        return [answers[index] for index in range(len(requests))]

    def _hosted(self, request: ActionRequest) -> HostedPolicy:
        hosted = self._policies[request.policy]
        if hosted is None:
            raise EngineError(
                f"policy {request.policy} was asked for {len(request.slots)} actions but is "
                "not attached"
            )
        self.rows_served += len(request.slots)
        return hosted

    def _gather(
        self, request: ActionRequest, noise: int = 0
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_], NDArray[np.float64]]:
        """(observations, masks, uniform numbers) of a request's rows. noise: `ActingRule.noise`."""
        slab = self._slabs[request.role]
        column, at = slab.column, (request.slots, request.rows)
        observations = {
            name: column[OBSERVATION_PREFIX + name][at] for name in self._leaves[request.role]
        }
        return observations, column["mask"][at], _uniforms(request, slab.layout, noise)

    def _serve_scripted(self, hosted: ScriptedPolicy, request: ActionRequest) -> ActionsReady:
        observations, mask, uniforms = self._gather(request)
        column = self._slabs[request.role].column
        column["actions"][request.slots, request.rows] = hosted.act(observations, mask, uniforms)
        return ActionsReady(
            request.policy, request.role, request.slots, request.rows, 0, hosted.weights
        )

    def _serve_networks(
        self, hosted: Sequence[NetworkPolicy], requests: Sequence[ActionRequest]
    ) -> list[ActionsReady]:
        """Act for requests of one role, several only for networks that `act_together`."""
        self.forwards += len(requests)
        request, model = joined(requests), hosted[0].model
        column, at = self._slabs[request.role].column, (request.slots, request.rows)
        counts = [len(one.slots) for one in requests]
        acted = (
            self._act([one.model for one in hosted], counts, request)
            if self._staging is None
            else self._act_on_device(model, request, self._staging)
        )
        check_finite(hosted, counts, acted)
        column["actions"][at] = acted["actions"]
        for one in self._slabs[request.role].layout.acted:
            # A column of another algorithm's members stays as it is.
            if one.name in acted:
                column[one.name][at] = acted[one.name]
        column["version"][at] = np.repeat([one.version for one in hosted], counts)
        column["policy"][at] = np.repeat([one.policy for one in requests], counts)
        if model.state_size:
            column["live_state"][request.slots] = acted["state"]
        return [
            ActionsReady(own.policy, own.role, own.slots, own.rows, one.version, one.weights)
            for own, one in zip(requests, hosted, strict=True)
        ]

    def _act(
        self, models: Sequence[PolicyModel], counts: Sequence[int], request: ActionRequest
    ) -> dict[str, NDArray[Any]]:
        """Run networks on the CPU; returns `ActOutput.named`. request: with the rows of all."""
        observations, mask, uniforms = self._gather(request, models[0].rule.noise)
        column, at = self._slabs[request.role].column, (request.slots, request.rows)
        seen = {name: torch.from_numpy(leaf) for name, leaf in observations.items()}
        masks, drawn = torch.from_numpy(mask), torch.from_numpy(uniforms)
        with torch.inference_mode():
            if len(models) > 1:
                acted = act_together(models, counts, seen, masks, drawn, greedy=request.greedy)
            else:
                acted = models[0].act(
                    seen,
                    masks,
                    torch.from_numpy(column["episode_start"][at]),
                    torch.from_numpy(column["live_state"][request.slots]),
                    drawn,
                    greedy=request.greedy,
                )
        return {name: tensor.numpy() for name, tensor in acted.named().items()}

    def _act_on_device(
        self, model: PolicyModel, request: ActionRequest, staging: Staging
    ) -> dict[str, NDArray[Any]]:
        """Run the network on the device, with one copy to it and one back.

        Returns `ActOutput.named`; the arrays are valid until the next request.
        """
        sent = self._send_rows(request, staging, model.rule.noise)
        with torch.inference_mode():
            observations = {
                name: sent[OBSERVATION_PREFIX + name] for name in self._leaves[request.role]
            }
            acted = model.act(
                observations,
                sent["mask"],
                sent["episode_start"],
                sent["live_state"],
                sent["uniforms"],
                greedy=request.greedy,
            ).named()
        if not model.state_size:
            del acted["state"]
        return staging.download(acted)

    def _send_rows(self, request: ActionRequest, staging: Staging, noise: int) -> dict[str, Tensor]:
        """Gather the network's inputs for the rows of a request and copy them to the device."""
        layout, column = self._slabs[request.role].layout, self._slabs[request.role].column
        leaves = self._leaves[request.role]
        by_row, count = (
            (*(OBSERVATION_PREFIX + name for name in leaves), "mask", "episode_start"),
            len(request.slots),
        )
        forms = {
            name: Form((count, *column[name].shape[2:]), column[name].dtype) for name in by_row
        }
        forms["live_state"] = Form((count, layout.state_size), column["live_state"].dtype)
        uniforms = _uniforms(request, layout, noise)
        forms["uniforms"] = Form(uniforms.shape, uniforms.dtype)
        host = staging.stage(forms)
        places = request.slots * column["mask"].shape[1] + request.rows
        for name in by_row:
            # mode="raise" would make numpy copy through a buffer; "clip" does not.
            np.take(flat_rows(column[name]), places, axis=0, out=host[name], mode="clip")
        host["live_state"][...] = column["live_state"][request.slots]
        host["uniforms"][...] = uniforms
        return staging.send()


def _uniforms(request: ActionRequest, layout: RoleLayout, noise: int) -> NDArray[np.float64]:
    """The uniform numbers of a request's rows, [N, W + noise]: see ActingRule."""
    of_step = action_uniforms(request.keys, request.steps, layout.actions.width)
    if not noise:
        return of_step
    of_game = action_uniforms(request.keys, np.full_like(request.steps, _OF_GAME), noise)
    return np.concatenate([of_step, of_game], axis=1)


def check_finite(
    hosted: Sequence[NetworkPolicy], counts: Sequence[int], acted: Mapping[str, NDArray[Any]]
) -> None:
    """Raise EngineError where a network's numbers are no numbers: its actions mean nothing.

    counts  how many observations each network acted for, in order
    acted   what acting gave for all of them, by name; each [N, ...]
    """
    columns = [one for name, one in acted.items() if name not in ("actions", "state")]
    # A sum is finite where all numbers are, unless they are huge, and costs less.
    if all(math.isfinite(np.add.reduce(one, axis=None)) for one in columns):
        return
    finite = [np.isfinite(one).reshape(len(one), -1).all(axis=1) for one in columns]
    good: NDArray[np.bool_] = np.logical_and.reduce(finite)
    for network, own in zip(hosted, np.split(good, np.cumsum(counts)[:-1]), strict=True):
        if own.all():
            continue
        version = f" at version {network.version}" * bool(network.version)
        raise EngineError(
            f"the network of {network.name}{version} computed numbers that are not finite for "
            f"{int((~own).sum())} of {len(own)} observations; its weights "
            "or the observations are too large: train with a lower learning.learning_rate, or set "
            "model.normalize_observations = true"
        )
