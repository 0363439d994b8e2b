"""What a process can host: tables (WorkerHost), policies (ServerHost), learners (LearnerHost), in any mixture, each in its turn."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.hyperparams import Hyperparams
from pbt.learning.gathering import BatchGatherer
from pbt.learning.learner import Learner
from pbt.learning.reducer import Reducer, SingleReducer
from pbt.learning.shared_reducer import SharedReducer
from pbt.population.ports import SnapshotStore
from pbt.runtime.assembly import Blueprint, MemberPlace, acting_model, game_maker, new_learner, new_planner, policy_loader
from pbt.runtime.control import (
    AddSnapshot,
    CloseWith,
    Copied,
    Copy,
    Discard,
    GameError,
    Gather,
    Gathered,
    Go,
    Hold,
    MemberError,
    Pause,
    Paused,
    Permits,
    Quiet,
    Regenerate,
    RemoveSnapshots,
    SetHyperparams,
    SetLearning,
    Train,
    Updated,
)  # fmt: skip
from pbt.runtime.devices import choose_device
from pbt.runtime.placements import ProcessPlan, Shard
from pbt.runtime.shared import AttachedMemory, read_share
from pbt.sampling.frozen import FrozenPool
from pbt.sampling.inference import Inference, LocalInference
from pbt.sampling.matchmaking import SnapshotEntry
from pbt.sampling.policy_server import NetworkPolicy, PolicyServer
from pbt.sampling.remote import PolicyService, RemoteInference, server_of_member
from pbt.sampling.rollout_worker import NO_TABLE, RolloutWorker
from pbt.sampling.sampler import Sampler
from pbt.sampling.saving import load_worker, save_worker
from pbt.transport.channel import Channel
from pbt.transport.fifo import attach_fifo
from pbt.transport.messages import JsonState
from pbt.transport.weights import PublishedWeights

# How long a host may wait for others at a time; meanwhile the main process is not heard.
PATIENCE_S = 0.05
DRAIN_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Workplace:
    """What every host of a process has. orders: the assignment as it came."""

    plan: ProcessPlan
    blueprint: Blueprint
    memory: AttachedMemory
    store: SnapshotStore
    channel: Channel
    orders: JsonState

    @property
    def config(self) -> RunConfig:
        return self.blueprint.config


class Host(Protocol):
    """voided: open games that could not be taken over from a checkpoint."""

    voided: int

    def hear(self, message: Any) -> None:
        """A message of the main process; those for other hosts are passed over."""

    def work(self) -> bool:
        """Do what there is to do, at most for a turn; False when there was nothing."""


class WorkerHost:
    """Tables in groups, the planner of their games, and the way to their actions."""

    def __init__(self, place: Workplace) -> None:
        self._place, self._channel, self._row = place, place.channel, place.memory.row
        blueprint, orders = place.blueprint, place.orders
        inference = _local_inference(place) if place.plan.local else _remote_inference(place)
        frozen = FrozenPool(inference, len(blueprint.members), blueprint.frozen_slots)
        shares = [read_share(group["share"]) for group in orders["groups"]]
        tables = [table for share in shares for table in share.tables]
        self._planner = new_planner(blueprint, frozen, tables, place.memory.counts)
        self._planner.load(orders["planner"])
        self._planner.close_with(orders["closing_games"])
        make_game = game_maker(place.config, blueprint.spec)
        self._groups = [
            RolloutWorker(
                make_game, share, place.memory.slabs, self._planner, place.config.seed,
                max_decisions=place.config.env.max_decisions, on_error=self._game_error, watch=self._watch,
            )
            for share in shares
        ]  # fmt: skip
        self._row.enter("starting")
        states = [(worker, group["state"]) for worker, group in zip(self._groups, orders["groups"], strict=True) if group["state"] is not None]
        self.voided = sum(load_worker(worker, state, self._planner, replayable=blueprint.spec.replayable) for worker, state in states)
        self._sampler = Sampler(self._groups, inference, self._row)
        self._closing, self._paused = bool(orders["closing"]), False

    def hear(self, message: Any) -> None:
        match message:
            case Permits():
                for permit in message.permits:
                    self._sampler.permit(permit)
            case Hold():
                self._sampler.hold = message.on
            case Regenerate():
                self._planner.set_generation(message.member, message.generation)
                self._sampler.regenerate(message.policy, message.generation)
            case SetLearning():
                self._planner.set_learning(message.member, message.learning)
            case AddSnapshot():
                self._planner.add_snapshot(SnapshotEntry(*message))
            case RemoveSnapshots():
                self._planner.remove_snapshots(set(message.snapshot_ids))
            case CloseWith():
                self._planner.close_with(message.games)
                self._closing = True
            case Pause():
                self._pause()
            case Go():
                self._paused = False

    def work(self) -> bool:
        """One turn of the sampler."""
        if self._paused:
            return False
        self._report(self._sampler.turn(PATIENCE_S))
        if self._closing and not self._planner.learning and self._planner.closing_games == 0 and not any(group.busy for group in self._groups):
            self._closing = False
            self._channel.send(Quiet())
        return not self._sampler.stalled

    def _report(self, messages: list[Any]) -> None:
        """Tell what happened; counted before it is told, so that a death in between leaves no row that was trained but not produced."""
        fillers = [filler for group in self._groups for filler in group.fillers]
        self._row.set("produced", sum(filler.produced for filler in fillers))
        for reason in ("voided", "generation"):
            self._row.set(f"dropped_{reason}", sum(filler.dropped[reason] for filler in fillers))
        if messages:
            self._channel.send_many(messages)

    def _pause(self) -> None:
        """Come to rest and say how everything stands. Raises: EngineError when answers do not come."""
        self._report(self._sampler.drain(DRAIN_TIMEOUT_S))
        if not self._sampler.at_rest():
            raise EngineError(f"{self._place.plan.name} did not come to rest within {DRAIN_TIMEOUT_S:.0f} s: actions are still outstanding")
        # Games that were voided when a checkpoint was taken over are told of by the first turn, which may not have come yet.
        self._report([message for group in self._groups for message in group.advance()])
        self._row.enter("paused")
        state = {"groups": [save_worker(group) for group in self._groups], "planner": self._planner.state()}
        self._paused = True
        standing = sum(group.rows_standing() for group in self._groups)
        self._channel.send(Paused(state, tuple(sorted(self._planner.needed())), standing))

    def _game_error(self, where: str, text: str) -> None:
        self._channel.send(GameError(where, text))

    def _watch(self, table: int) -> None:
        if table != NO_TABLE:
            self._row.enter("game", table)
        else:
            self._row.enter("simulating")


def _local_inference(place: Workplace) -> Inference:
    """A policy server of one's own for every policy."""
    blueprint = place.blueprint
    server = PolicyServer(
        place.memory.slabs, blueprint.policy_slots, choose_device(place.config.runtime.inference_device, "runtime.inference_device")
    )
    for member in blueprint.members:
        server.attach(member.policy, _live_policy(place, member))
    return LocalInference(server, policy_loader(blueprint.spec, blueprint.layouts, place.config, place.store))


def _remote_inference(place: Workplace) -> Inference:
    requests = [attach_fifo(handle) for handle in place.orders["memory"]["requests"]]
    ((_, handle),) = place.orders["memory"]["replies"]
    return RemoteInference(place.orders["source"], len(place.blueprint.members), requests, attach_fifo(handle))


def _live_policy(place: Workplace, member: MemberPlace) -> NetworkPolicy:
    return NetworkPolicy(acting_model(place.blueprint, member), place.memory.published(member))


class ServerHost:
    """Policies for the tables of other processes."""

    voided = 0

    def __init__(self, place: Workplace) -> None:
        blueprint, config = place.blueprint, place.config
        memory = place.orders["memory"]
        sources = {source: attach_fifo(handle) for source, (_, handle) in enumerate(memory["replies"])}
        frozen = range(len(blueprint.members), len(blueprint.members) + blueprint.frozen_slots * len(sources))
        server = PolicyServer(place.memory.slabs, frozen.stop, choose_device(config.runtime.inference_device, "runtime.inference_device"))
        for member in blueprint.members:
            if server_of_member(member.policy, place.orders["servers"]) == place.plan.serves:
                server.attach(member.policy, _live_policy(place, member))
        load = policy_loader(blueprint.spec, blueprint.layouts, config, place.store)
        (requests,) = memory["requests"]
        self._service = PolicyService(
            server, attach_fifo(requests), sources, load, frozen, place.memory.row, delay_s=config.runtime.inference_delay_s
        )  # fmt: skip
        # Learners in the same process must not wait for requests.
        self._patience_s = PATIENCE_S / 10 if place.plan.trains else PATIENCE_S

    def hear(self, message: Any) -> None:
        """Nothing is for servers: workers tell them what they need."""

    def work(self) -> bool:
        self._service.step(self._patience_s)
        return True


@dataclass
class HostedLearner:
    """A learner, or one shard of it, and where it publishes; shard 0 alone does."""

    shard: Shard
    role: int
    learner: Learner
    published: PublishedWeights
    reducer: Reducer

    def publish(self) -> None:
        if self.shard.index == 0:
            self.published.publish(self.learner.state(), self.learner.version)


class LearnerHost:
    """Learners, one update at a time, in the order in which they were told to train."""

    voided = 0

    def __init__(self, place: Workplace) -> None:
        self._place, self._channel, self._row = place, place.channel, place.memory.row
        device = choose_device(place.config.runtime.learner_device, "runtime.learner_device")
        members = {member.name: member for member in place.blueprint.members}
        self._policies = {member.name: member.policy for member in place.blueprint.members}
        self._learners = {shard.member: self._hosted(shard, members[shard.member], device) for shard in place.plan.trains}
        # A worker's own core would only be shared with such a thread.
        background = not place.plan.groups
        self._gatherer = BatchGatherer(place.memory.slabs, device, background=background, on_gathered=self._gathered)
        self._to_train: deque[str] = deque()

    def _hosted(self, shard: Shard, member: MemberPlace, device: torch.device) -> HostedLearner:
        """The learner as it published itself last, with the hyperparameters in force."""
        learner = new_learner(self._place.blueprint, member, device)
        published = self._place.memory.published(member)
        learner.load_state(published.read())
        learner.set_hyperparams(Hyperparams.from_flat(self._place.orders["hyperparams"][member.name]))
        reducer: Reducer = SingleReducer()
        if shard.shards > 1:
            region = self._place.memory.regions[f"reducer-{shard.member}"]
            parameters = sum(parameter.numel() for parameter in learner.model.parameters())
            timeout_s = self._place.config.learning.timeout_s
            reducer = SharedReducer(region, shard.index, shard.shards, parameters, timeout_s=timeout_s, while_waiting=self._row.beat)
        return HostedLearner(shard, member.role, learner, published, reducer)

    def hear(self, message: Any) -> None:
        match message:
            case Gather():
                self._gather(message.member, message.slots)
            case Train():
                self._to_train.append(message.member)
            case Discard():
                self._to_train = deque(member for member in self._to_train if member != message.member)
                self._gatherer.discard(message.member)
            case Copy():
                self._copy(self._learners[message.member], message.snapshot_id)
            case SetHyperparams():
                self._learners[message.member].learner.set_hyperparams(Hyperparams.from_flat(message.values))

    def work(self) -> bool:
        """One update, if one is due. What raises is told; the learner goes back to what it published last."""
        if not self._to_train:
            return False
        name = self._to_train.popleft()
        hosted = self._learners[name]
        try:
            self._timed(lambda: self._update(name, hosted))
        except Exception as error:  # a member's trouble is not the others'
            if hosted.shard.shards > 1:
                # The other shards wait in the middle of a sum: all start again.
                raise
            hosted.learner.load_state(hosted.published.read())
            self._channel.send(MemberError(name, f"{type(error).__name__}: {error}"))
        return True

    def _gather(self, name: str, slots: tuple[int, ...]) -> None:
        """Raises: EngineError when a row was acted by another policy; no learner ever sees one."""
        self._row.enter("gathering")
        role, policy = self._learners[name].role, self._policies[name]
        column = self._place.memory.slabs[role].column
        strangers = column["valid"][list(slots)] & (column["policy"][list(slots)] != policy)
        if strangers.any():
            raise EngineError(f"{int(strangers.sum())} rows given to the learner of {name} (policy {policy}) were acted by other policies")
        self._gatherer.gather(name, role, slots)

    def _update(self, name: str, hosted: HostedLearner) -> None:
        self._row.enter("learning")
        stats = hosted.learner.update(self._gatherer.take(name), hosted.reducer)
        hosted.publish()
        self._row.add("frames", stats.frames)
        self._channel.send(Updated(name, stats))

    def _copy(self, hosted: HostedLearner, snapshot_id: str) -> None:
        hosted.learner.copy_from(self._place.store.load(snapshot_id))
        hosted.publish()
        self._channel.send(Copied(hosted.shard.member))

    def _gathered(self, member: str) -> None:
        self._channel.send(Gathered(member))

    def _timed(self, act: Callable[[], None]) -> None:
        started = time.monotonic()
        act()
        self._row.add("learn_s", time.monotonic() - started)
