"""A policy server is replaced in the middle of games.

All it must know stands in the slabs and in the published weights.
"""

from typing import Any

import pytest
import torch

from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.inference.policy_server import NetworkPolicy, PolicyServer
from pbt.models.policy_model import PolicyModel, build_model
from pbt.models.weights import MODEL_PREFIX
from pbt.records import PlayerRef
from pbt.runtime.blueprint import game_layouts, game_maker
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.seats import NO_SLOT
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GamePlan, RolloutPermit, SeatPlan, SlotFull
from pbt.transport.slab import Slab
from pbt.transport.weights import PublishedWeights

LIVE, FROZEN = 0, 1
CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "tictactoe"},
        "sampling": {"rollout_steps": 4},
        "model": {"core": "gru", "gru_size": 8, "hidden": [8]},
    }
)


class Games:
    """A live member plays a frozen opponent at four tables. log: all requests, in order."""

    def __init__(self) -> None:
        spec = registry.spec("tictactoe")
        make_game = game_maker(CONFIG, spec)
        (self._layout,) = game_layouts(make_game(), CONFIG)
        self.slab = Slab(self._layout, 40)
        self._weights = [self._model(seed).state_dict() for seed in (1, 2)]
        live = {MODEL_PREFIX + name: tensor for name, tensor in self._weights[LIVE].items()}
        self._published = PublishedWeights(live)
        self._published.publish(live, 7)
        self._counts = [0] * 4
        self.worker = RolloutWorker(
            make_game, Partition.whole(4, [40]), [self.slab], GamesFrom(self._plan), 1
        )
        self.log: list[tuple[Any, ...]] = []
        self.restart()

    def _model(self, seed: int) -> PolicyModel:
        model = build_model(self._layout, CONFIG.model, seed=seed)
        with torch.no_grad():
            # A fresh policy hardly looks; this one does.
            model.heads.weight.mul_(100.0)
        return model

    def restart(self) -> None:
        """Start a new server over the same slabs.

        The live policy gets the published weights, the frozen one those of its snapshot.
        """
        self.server = PolicyServer([self.slab], 2)
        frozen = self._model(99)
        frozen.load_state_dict(self._weights[FROZEN])
        self.server.attach(LIVE, NetworkPolicy(self._model(98), "m0", self._published))
        self.server.attach(FROZEN, NetworkPolicy(frozen, "frozen"))

    def _plan(self, table: int) -> GamePlan:
        self._counts[table] += 1
        seats = (
            SeatPlan(PlayerRef("member", "m0"), LIVE, 0, True),
            SeatPlan(PlayerRef("snapshot", "s"), FROZEN, 0, False),
        )
        count = self._counts[table]
        return GamePlan(
            count, "training", count, seats[:: 1 if count % 2 else -1], ("noise", table, count)
        )

    def turn(self) -> None:
        for request in self.worker.requests():
            self.worker.receive(self.server.serve(request))
            at = (request.slots, request.rows)
            columns = [
                self.slab.column[name][at].tobytes()
                for name in ("actions", "log_prob", "value", "version")
            ]
            self.log.append(
                (request.policy, *columns, self.slab.column["live_state"][request.slots].tobytes())
            )
        for message in self.worker.advance():
            if isinstance(message, SlotFull):
                self.worker.permit(RolloutPermit(message.role, message.slot))


@pytest.fixture(scope="module")
def uninterrupted() -> Games:
    games = Games()
    for _ in range(40):
        games.turn()
    return games


@pytest.mark.parametrize("every", [1, 7])
def test_trap_a_restarted_policy_server_loses_nothing(uninterrupted: Games, every: int) -> None:
    games = Games()
    for turn in range(40):
        if turn % every == 0:
            games.restart()
        games.turn()
    assert {entry[0] for entry in games.log} == {LIVE, FROZEN}
    assert games.log == uninterrupted.log


@pytest.mark.parametrize("policy", [LIVE, FROZEN])
def test_a_server_that_forgot_the_memory_of_either_would_act_otherwise(
    uninterrupted: Games, policy: int
) -> None:
    games = Games()
    for turn in range(40):
        if turn >= 13:
            seats = games.worker.seats
            chosen = (seats.policy == policy) & (seats.steps > 0) & (seats.slot != NO_SLOT)
            games.slab.column["live_state"][seats.slot[chosen]] = 0
        games.turn()
    assert [entry[1] for entry in games.log] != [entry[1] for entry in uninterrupted.log]
