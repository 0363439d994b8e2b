"""What every process of a run executes but the main one, once `pbt.runtime.entry` has settled it.

It builds what its Assignment names, says Ready, and then does two things in turn: hear the main
process, work. It ends when it is told to, when the main process is gone (end of the stream), and in
any case when its parent dies (death signal).
"""

import os
import socket
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import EngineError, PbtError
from pbt.models.precision import sees_images
from pbt.processes.freed_memory import keep_freed_memory
from pbt.processes.messages import Failed, Stop
from pbt.runtime.blueprint import blueprint_of
from pbt.runtime.control import FROM_MAIN, TO_MAIN, Assignment, Go, Ready
from pbt.runtime.hosts import ComponentHost, ServerHost, WorkerHost, Workplace
from pbt.runtime.learner_host import LearnerHost
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.shared import AttachedMemory
from pbt.snapshots import FileSnapshotStore
from pbt.transport.channel import Channel, PeerGone
from pbt.transport.wire import Wire

BEAT_EVERY_S = 0.5
IDLE_WAIT_S = 0.2


def main(descriptor: int) -> int:
    """Returns the exit status: 0 when told to leave or left alone, 1 after an error of its own
    (which the main process has been told).
    """
    channel = Channel(
        socket.socket(fileno=descriptor), outgoing=Wire(TO_MAIN), incoming=Wire(FROM_MAIN)
    )
    try:
        work(channel)
    except PeerGone:
        return 0
    except BaseException as error:  # noqa: BLE001 - whatever it is, the main process must hear of it before this one ends
        try:
            channel.send(
                Failed(
                    type(error).__name__,
                    str(error),
                    traceback.format_exc(),
                    isinstance(error, EngineError),
                )
            )
        except PbtError:
            return 1
        return 1
    return 0


def work(channel: Channel) -> None:
    """Build, then hear and work until Stop."""
    later: list[Any] = []
    while not later:
        channel.wait(IDLE_WAIT_S)
        later = channel.receive()
    assignment = later.pop(0)
    assert isinstance(assignment, Assignment), "the first thing the main process sends"
    hosts, row = build(assignment, channel)
    channel.send(Ready())
    going = False
    while True:
        for message in [*later, *channel.receive()]:
            if isinstance(message, Stop):
                return
            going = going or isinstance(message, Go)
            for host in hosts:
                host.hear(message)
        later = []
        worked = [host.work() for host in hosts] if going else []
        if not any(worked):
            if row.phase != "paused":
                row.enter("waiting")
            began_s = time.monotonic()
            channel.wait(IDLE_WAIT_S)
            row.add("wait_s", time.monotonic() - began_s)


def build(assignment: Assignment, channel: Channel) -> tuple[list[ComponentHost], Any]:
    """The components that the assignment names."""
    plan, orders = ProcessPlan.of(assignment.plan["plan"]), assignment.plan
    config = RunConfig.model_validate(orders["config"])
    replayable, chance = orders["measured"]
    torch.set_num_threads(config.runtime.torch_threads)
    pin(plan, config)
    if plan.groups:
        take_turns()
    blueprint = blueprint_of(
        config, registry.spec(config.env.name, allow_files=True, measured=(replayable, chance))
    )
    if any(sees_images(config.model, layout.leaves) for layout in blueprint.layouts):
        keep_freed_memory()
    memory = AttachedMemory(blueprint, orders["memory"])
    memory.row.enter("starting")
    beat(memory.row)
    place = Workplace(
        plan, blueprint, memory, FileSnapshotStore(Path(orders["snapshots"])), channel, orders
    )
    hosts: list[ComponentHost] = []
    if plan.groups:
        hosts.append(WorkerHost(place))
    if plan.serves is not None:
        hosts.append(ServerHost(place))
    if plan.trains:
        hosts.append(LearnerHost(place))
    return hosts, memory.row


def pin(plan: ProcessPlan, config: RunConfig) -> None:
    """Keep a worker that acts for itself on a core of its own. Not where a quota allows fewer
    cores than there are: others would choose the same.
    """
    cores = sorted(os.sched_getaffinity(0))
    if config.runtime.pin_workers and plan.local and config.runtime.workers == len(cores):
        os.sched_setaffinity(0, {cores[plan.groups[0]]})


def take_turns() -> None:
    """Let nobody who is woken interrupt this thread, nor it or what it starts interrupt others
    (SCHED_BATCH).

    A game in a process of its own is woken while the message to it is still locked; it would begin,
    find the lock, sleep and be woken again: with Doom that is half of all switches between the
    processes, and a tenth of the engine's time.
    """
    # A sandbox may forbid it; then everything is only slower.
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def beat(row: Any) -> None:
    """Show signs of life: one now, so that nobody takes building for silence, then from a thread
    that stops with the process, and only with it.
    """
    row.beat()

    def show() -> None:
        while not stopped.wait(BEAT_EVERY_S):
            row.beat()

    stopped = threading.Event()
    threading.Thread(target=show, name="beat", daemon=True).start()
