"""The parts that a process can host, in any mixture, each of which works in its turn.

Tables are hosted by WorkerHost, policies by ServerHost, learners by `learner_host.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from msgspec import convert

from pbt.checkpoint.workers import load_worker, save_worker
from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.inference.client import Inference, LocalInference
from pbt.inference.frozen import FrozenPool
from pbt.inference.policy_server import NetworkPolicy, PolicyServer
from pbt.inference.remote import PolicyService, RemoteInference, server_of_member
from pbt.population.interfaces import SnapshotStore
from pbt.processes.freed_memory import return_free_pages
from pbt.runtime import control
from pbt.runtime.assembly import acting_model, new_planner, policy_loader
from pbt.runtime.blueprint import Blueprint, MemberPlace, equal_shares, game_maker
from pbt.runtime.devices import choose_device
from pbt.runtime.game_observer import new_game_observer, new_reproductions
from pbt.runtime.pacing import new_pacing
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.shared import AttachedMemory
from pbt.sampling.game_code import NO_TABLE
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.sampler import Sampler
from pbt.sampling.slots import Partition
from pbt.saved import SavedPlanner, SavedWorker
from pbt.transport.channel import Channel
from pbt.transport.fifo import attach_fifo
from pbt.transport.messages import JsonState

# How long a host may wait for other processes at a time; it hears no message meanwhile.
PATIENCE_S = 0.05
DRAIN_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Workplace:
    """What all hosts of a process share.

    plan       what the process hosts
    blueprint  the facts of the population
    memory     the shared memory of the run
    store      of snapshots
    channel    to the main process
    orders     of the assignment
    """

    plan: ProcessPlan
    blueprint: Blueprint
    memory: AttachedMemory
    store: SnapshotStore
    channel: Channel
    orders: JsonState

    @property
    def config(self) -> RunConfig:
        return self.blueprint.config


class ComponentHost(Protocol):
    """One part of a process."""

    def hear(self, message: Any) -> None:
        """Take a message of the main process; those for other hosts are passed over."""

    def work(self) -> bool:
        """Do what there is to do, at most for one turn. Returns False when there was nothing."""


class WorkerHost:
    """Plays the tables of a worker.

    It holds them in groups, with the planner of their games and a way to get actions: a policy
    server of its own, or requests to the servers.
    """

    def __init__(self, place: Workplace) -> None:
        self._place, self._channel, self._row = place, place.channel, place.memory.row
        blueprint, orders = place.blueprint, place.orders
        inference = _local_inference(place) if place.plan.local else _remote_inference(place)
        frozen = FrozenPool(inference, blueprint.live_slots, blueprint.frozen_slots)
        shares = equal_shares(blueprint, orders["partitions"])
        partitions = [shares[group] for group in place.plan.groups]
        tables = [table for partition in partitions for table in partition.tables]
        self._planner = new_planner(blueprint, frozen, tables, place.memory.counts)
        self._planner.load(convert(orders["planner"], SavedPlanner))
        self._planner.close_with(orders["closing_games"])
        self._groups = self._new_groups(partitions)
        self._row.enter("starting")
        states = convert(orders["states"], list[SavedWorker])
        for worker, state in zip(self._groups, states, strict=True):
            load_worker(worker, state, self._planner, replayable=blueprint.spec.replayable)
        self._sampler = Sampler(self._groups, inference, self._row)
        self._sampler.play(0)
        self._planner.on_generation = self._sampler.regenerate
        self._closing, self._paused, self._in_rollout = bool(orders["closing"]), False, False

    def _new_groups(self, partitions: Sequence[Partition]) -> list[RolloutWorker]:
        """A group of tables for each partition."""
        place, config = self._place, self._place.config
        spec, snapshots = place.blueprint.spec, Path(place.orders["snapshots"])
        make_game, reproductions = game_maker(config, spec), new_reproductions(config, snapshots)
        observer = new_game_observer(config, spec, snapshots)
        return [
            RolloutWorker(
                make_game,
                partition,
                place.memory.slabs,
                self._planner,
                config.seed,
                max_decisions=config.env.max_decisions,
                on_error=lambda place, text: self._channel.send(control.GameError(place, text)),
                on_game_code=self._on_game_code,
                on_long=lambda text: self._channel.send(control.LongGame(text)),
                observer=observer,
                reproductions=reproductions,
                levels=place.memory.levels,
                patience_s=new_pacing(config).late_after_s,
            )
            for partition in partitions
        ]

    def hear(self, message: Any) -> None:
        match message:
            case control.Permits():
                for permit in message.permits:
                    self._sampler.permit(permit)
            case control.PlayTurns():
                self._sampler.play(message.turns)
                self._in_rollout = bool(message.turns)
                if self._in_rollout:
                    for group in self._groups:
                        group.round = message.round
            case control.SetRoster():
                self._planner.roster = message.roster
            case control.CloseWith():
                self._planner.close_with(message.games)
                self._closing = True
            case control.Pause():
                self._pause(message.rest)
            case control.Go():
                self._paused = False

    def work(self) -> bool:
        """One turn of the sampler."""
        if self._paused:
            return False
        self._report(self._sampler.turn(PATIENCE_S))
        if self._in_rollout and self._sampler.played:
            self._end_rollout()
        if (
            self._closing
            and not self._planner.roster.learning
            and self._planner.closing_games == 0
            and not any(group.busy for group in self._groups)
        ):
            self._closing = False
            self._channel.send(control.Quiet())
        return not self._sampler.stalled

    def _end_rollout(self) -> None:
        """Hand over all rows. Raises: EngineError when slots were lacking before the end."""
        if not all(group.can_turn for group in self._groups):
            raise EngineError("a rollout needs more slots than there are; a bug worth reporting")
        self._in_rollout = False
        self._sampler.play(0)
        generations = self._planner.roster.generations()
        self._report([full for group in self._groups for full in group.cut(generations)])
        self._channel.send(control.TurnsPlayed())

    def _report(self, messages: list[Any]) -> None:
        """Count what happened on the board, then tell the main process.

        If the worker died between the two in the other order, rows could be trained that were never
        counted as produced.
        """
        fillers = [filler for group in self._groups for filler in group.fillers]
        self._row.set("produced", sum(filler.produced for filler in fillers))
        for reason in ("voided", "generation"):
            self._row.set(f"dropped_{reason}", sum(filler.dropped[reason] for filler in fillers))
        if messages:
            self._channel.send_many(messages)

    def _pause(self, rest: int) -> None:
        """Come to rest and send the state of everything. Raises: EngineError without actions."""
        self._report(self._sampler.drain(DRAIN_TIMEOUT_S))
        if not self._sampler.at_rest():
            raise EngineError(
                f"{self._place.plan.name} did not come to rest within {DRAIN_TIMEOUT_S:.0f} "
                "s: actions are still outstanding"
            )
        # The first turn after a resume reports the games that were voided by it. That turn may not
        # have come yet.
        self._report([message for group in self._groups for message in group.advance()])
        self._row.enter("paused")
        self._paused = True
        groups = [save_worker(group) for group in self._groups]
        standing = sum(group.rows_standing() for group in self._groups)
        needed = tuple(sorted(self._planner.needed()))
        self._channel.send(control.Paused(rest, groups, needed, standing))
        return_free_pages()

    def _on_game_code(self, table: int) -> None:
        if table != NO_TABLE:
            self._row.enter("game", table)
        else:
            self._row.enter("simulating")


def _local_inference(place: Workplace) -> Inference:
    """Return a way to actions without other processes: a policy server for every policy."""
    blueprint = place.blueprint
    device = choose_device(place.config.runtime, "inference_device")
    server = PolicyServer(place.memory.slabs, blueprint.policy_slots, device)
    for member in blueprint.members:
        server.attach(member.policy, _live_policy(place, member))
    return LocalInference(server, policy_loader(blueprint, place.store))


def _remote_inference(place: Workplace) -> Inference:
    requests = [attach_fifo(handle) for handle in place.orders["memory"]["requests"]]
    (replies,) = map(attach_fifo, place.orders["memory"]["replies"])
    return RemoteInference(place.orders["source"], place.blueprint.live_slots, requests, replies)


def _live_policy(place: Workplace, member: MemberPlace) -> NetworkPolicy:
    return NetworkPolicy(
        acting_model(place.blueprint, member), member.name, place.memory.published(member)
    )


class ServerHost:
    """Serves policies to the tables of other processes."""

    def __init__(self, place: Workplace) -> None:
        blueprint, config = place.blueprint, place.config
        memory = place.orders["memory"]
        sources = dict(enumerate(map(attach_fifo, memory["replies"])))
        frozen = range(
            blueprint.live_slots, blueprint.live_slots + blueprint.frozen_slots * len(sources)
        )
        device = choose_device(config.runtime, "inference_device")
        server = PolicyServer(place.memory.slabs, frozen.stop, device)
        for member in blueprint.members:
            if server_of_member(member.policy, place.orders["servers"]) == place.plan.serves:
                server.attach(member.policy, _live_policy(place, member))
        load = policy_loader(blueprint, place.store)
        (requests,) = memory["requests"]
        self._service = PolicyService(
            server,
            attach_fifo(requests),
            sources,
            load,
            frozen,
            place.memory.row,
            delay_s=config.runtime.inference_delay_s,
        )
        # A learner in the same process must not wait long for requests of workers.
        self._patience_s = PATIENCE_S / 10 if place.plan.trains else PATIENCE_S

    def hear(self, message: Any) -> None:
        """Do nothing: the main process tells servers nothing, workers ask them directly."""

    def work(self) -> bool:
        self._service.step(self._patience_s)
        return True
