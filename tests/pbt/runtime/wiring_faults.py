"""Small faults in the wiring of a run, each of which a certificate must find.

A fault changes one function of the program, for the process that it is made in. Children make the
one that the environment names (`checked_process`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.algorithms.base import Reducer
from pbt.algorithms.batch import Batch
from pbt.hyperparams import Hyperparams
from pbt.inference.frozen import LocalPolicyHost
from pbt.inference.policy_server import HostedPolicy, NetworkPolicy, PolicyServer
from pbt.learning import background_gathering
from pbt.learning import learner as learning
from pbt.learning.batcher import Batcher
from pbt.learning.experience import UniformReplay
from pbt.learning.learner import Learner
from pbt.learning.optimizer import Optimizer
from pbt.models.distributions import joint_log_prob, log_probabilities, masked_logits
from pbt.models.policy_model import ActOutput, PolicyModel
from pbt.models.weights import MODEL_PREFIX, model_tensors
from pbt.population import controller
from pbt.records import PlayerRef
from pbt.sampling import rollout_worker
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.transport.messages import (
    ActionRequest,
    ActionsReady,
    GameEnd,
    GamesOver,
    RolloutPermit,
    SeatPlan,
    SlotFull,
)
from pbt.transport.slab import OBSERVATION_PREFIX, Slab
from pbt.transport.weights import PublishedWeights

Patch = Callable[[Any, str, Any], None]
"""(object, attribute, new value): `setattr`, or that of pytest's monkeypatch."""


def copies_keep_the_learning_rate(patch: Patch) -> None:
    set_hyperparams = Learner.set_hyperparams

    def setting(self: Learner, hyperparams: Hyperparams) -> None:
        if hasattr(self, "hyperparams"):
            kept = {"learning_rate": self.hyperparams.values["learning_rate"]}
            hyperparams = replace(hyperparams, values={**hyperparams.values, **kept})
        set_hyperparams(self, hyperparams)

    patch(Learner, "set_hyperparams", setting)


def values_are_lost(patch: Patch) -> None:
    """Learners keep the values that the config gave them."""
    set_hyperparams = Learner.set_hyperparams

    def setting(self: Learner, hyperparams: Hyperparams) -> None:
        if not hasattr(self, "hyperparams"):
            set_hyperparams(self, hyperparams)

    patch(Learner, "set_hyperparams", setting)


def publications_are_stale(patch: Patch) -> None:
    """Readers get the weights before the newest ones, under the newest version."""
    publish = PublishedWeights.publish

    def publishing(
        self: PublishedWeights, weights: Mapping[str, Tensor], version: int, **attested: bool
    ) -> None:
        model = {name: tensor.clone() for name, tensor in weights.items() if MODEL_PREFIX in name}
        before = self.__dict__.get("before", model)
        self.__dict__["before"] = model
        publish(self, {**weights, **before}, version, **attested)

    patch(PublishedWeights, "publish", publishing)


def policies_read_anothers_weights(patch: Patch) -> None:
    """The servers act for the first two members with each other's weights."""
    attach = PolicyServer.attach

    def attaching(self: PolicyServer, policy: int, hosted: HostedPolicy) -> None:
        live = isinstance(hosted, NetworkPolicy) and hosted._published is not None
        attach(self, 1 - policy if live and policy < 2 else policy, hosted)

    patch(PolicyServer, "attach", attaching)


def opponents_change_in_mid_game(patch: Patch) -> None:
    """From the third decision on, another frozen player answers for a frozen one."""
    serve_all = PolicyServer.serve_all

    def serving(self: PolicyServer, requests: Sequence[ActionRequest]) -> list[ActionsReady]:
        frozen = [
            policy
            for policy, hosted in enumerate(self._policies)
            if isinstance(hosted, NetworkPolicy) and hosted._published is None
        ]

        def changed(request: ActionRequest) -> ActionRequest:
            if request.policy not in frozen or not (request.steps >= 2).any():
                return request
            other = frozen[(frozen.index(request.policy) + 1) % len(frozen)]
            return request._replace(policy=other)

        answers = serve_all(self, [changed(request) for request in requests])
        pairs = zip(answers, requests, strict=True)
        return [answer._replace(policy=request.policy) for answer, request in pairs]

    patch(PolicyServer, "serve_all", serving)


def live_players_stand_in_for_frozen_ones(patch: Patch) -> None:
    def attaching(self: LocalPolicyHost, policy: int, player: PlayerRef, role: int) -> None:
        self._server._policies[policy] = self._server._policies[0]

    patch(LocalPolicyHost, "attach_player", attaching)


def rows_name_the_players_of_other_seats(patch: Patch) -> None:
    endings = rollout_worker.endings

    def shifted(told: GameEnd | GamesOver) -> GameEnd | GamesOver:
        if isinstance(told, GamesOver):
            return told._replace(lineups=[shift(seats) for seats in told.lineups])
        return told._replace(seats=shift(told.seats))

    def shift(seats: Any) -> Any:
        """The same seats, each with the player of the next one."""
        players = [seat.player for seat in seats]
        moved = zip(seats, players[1:] + players[:1], strict=True)
        return tuple(
            seat._replace(player=player)
            if isinstance(seat, SeatPlan)
            else replace(seat, player=player)
            for seat, player in moved
        )

    patch(rollout_worker, "endings", lambda *games: [shifted(told) for told in endings(*games)])


def learners_ignore_masks(patch: Patch) -> None:
    gradients = Learner._gradients

    def gradient(self: Learner, batch: Batch, reducer: Reducer) -> Any:
        return gradients(self, replace(batch, mask=torch.ones_like(batch.mask)), reducer)

    patch(Learner, "_gradients", gradient)


def _acted_otherwise(
    patch: Patch, log_probs_of: Callable[[Tensor, Tensor, tuple[int, ...]], Tensor]
) -> None:
    """Actors store other log-probabilities than those of the policy that chose the action.

    log_probs_of: (logits, mask, head sizes) -> the log-probabilities of every choice
    """
    chosen = PolicyModel._chosen

    def choosing(
        self: PolicyModel,
        said: Tensor,
        mask: Tensor,
        state: Tensor,
        uniforms: Tensor,
        *,
        greedy: bool,
    ) -> ActOutput:
        acted = chosen(self, said, mask, state, uniforms, greedy=greedy)
        heads = self.actions.choices
        log_probs = log_probs_of(said[:, :-1], mask, heads)
        log_prob = joint_log_prob(log_probs, acted.actions, heads)
        return acted._replace(columns={**acted.columns, "log_prob": log_prob})

    patch(PolicyModel, "_chosen", choosing)


def actors_ignore_masks(patch: Patch) -> None:
    _acted_otherwise(patch, lambda out, mask, heads: log_probabilities(out, heads))


def actors_have_another_temperature(patch: Patch) -> None:
    _acted_otherwise(
        patch,
        lambda out, mask, heads: log_probabilities(masked_logits(out / 1.1, mask, heads), heads),
    )


def actors_have_another_precision(patch: Patch) -> None:
    _acted_otherwise(
        patch,
        lambda out, mask, heads: log_probabilities(
            masked_logits(out.bfloat16().float(), mask, heads), heads
        ),
    )


def old_generations_are_learned(patch: Patch) -> None:
    add = Batcher.add

    def adding(
        self: Batcher, full: SlotFull, generation: int, refuse: str = ""
    ) -> list[RolloutPermit]:
        return add(self, full, full.generation, refuse)

    discard = Batcher.discard
    patch(Batcher, "add", adding)
    patch(
        Batcher,
        "discard",
        lambda self, reason: [] if reason == "generation" else discard(self, reason),
    )
    patch(RolloutWorker, "regenerate", lambda self, policy, generation: None)


def moments_are_not_copied(patch: Patch) -> None:
    def copying(
        model: PolicyModel, optimizer: Optimizer, returns: object, state: Mapping[str, Tensor]
    ) -> None:
        model.load_state_dict(model_tensors(state))

    patch(learning, "copy_weights", copying)


def snapshots_are_rounded(patch: Patch) -> None:
    """Snapshots are stored as if they had passed through half precision."""
    whole = controller.policy_tensors

    def rounded(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: tensor.half().to(tensor.dtype) for name, tensor in whole(state).items()}

    patch(controller, "policy_tensors", rounded)


def batches_mix_slots(patch: Patch) -> None:
    """Observations of a batch come from other slots than its actions."""
    gather = background_gathering.gather

    def gathering(slab: Slab, slots: Any) -> Batch:
        batch, other = gather(slab, slots), gather(slab, np.roll(slots, 1))
        tensors = batch.tensors()
        for name, tensor in other.tensors().items():
            if name.startswith(OBSERVATION_PREFIX):
                tensors[name] = tensor
        return Batch.of(tensors)

    patch(background_gathering, "gather", gathering)


def replays_mix_rows(patch: Patch) -> None:
    """Steps are drawn with the action value of the step behind them."""
    drawn = UniformReplay._drawn

    def drawing(self: UniformReplay, slab: Slab, places: NDArray[np.int64]) -> Batch:
        batch = drawn(self, slab, places)
        moved = {name: column.roll(1, dims=1) for name, column in batch.acted.items()}
        return replace(batch, acted=moved)

    patch(UniformReplay, "_drawn", drawing)
