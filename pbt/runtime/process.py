"""The main function of every child process of a run, after `pbt.runtime.entry` has settled it.

A process builds what its Assignment names, says Ready, and then does two things in turn: it hears
the main process, and it works. It ends when it is told to, when the main process is gone (end of
the stream), and in any case when its parent dies (death signal).
"""

import gc
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
from pbt.config.stored import config_as_stored
from pbt.envs import registry
from pbt.errors import EngineError, PbtError
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
    """Work until told to stop. descriptor: the process's end of the channel.

    Returns the exit status: 0 after Stop or without a main process, 1 after an error of its own, of
    which it has told the main process.
    """
    channel = Channel(
        socket.socket(fileno=descriptor), outgoing=Wire(TO_MAIN), incoming=Wire(FROM_MAIN)
    )
    try:
        work(channel)
    except PeerGone:
        return 0
    except BaseException as error:  # noqa: BLE001 - the main process must hear of every end
        trace, engine = traceback.format_exc(), isinstance(error, EngineError)
        with suppress(PbtError):
            channel.send(Failed(type(error).__name__, str(error), trace, engine))
        return 1
    return 0


def work(channel: Channel) -> None:
    """Build what the assignment says, then hear and work until Stop."""
    messages: list[Any] = []
    while not messages:
        channel.wait(IDLE_WAIT_S)
        messages = channel.receive()
    assignment = messages.pop(0)
    assert isinstance(assignment, Assignment), "the first thing the main process sends"
    hosts, row = build(assignment, channel)
    # What is there by now stays, so the garbage collector need not look through it.
    gc.freeze()
    channel.send(Ready())
    going = False
    while True:
        for message in [*messages, *channel.receive()]:
            if isinstance(message, Stop):
                return
            going = going or isinstance(message, Go)
            for host in hosts:
                host.hear(message)
        messages = []
        worked = [host.work() for host in hosts] if going else []
        if not any(worked):
            if row.phase != "paused":
                row.enter("waiting")
            began_s = time.monotonic()
            channel.wait(IDLE_WAIT_S)
            row.add("wait_s", time.monotonic() - began_s)


def build(assignment: Assignment, channel: Channel) -> tuple[list[ComponentHost], Any]:
    """Return the hosts of the components that the assignment names, and the process's board row."""
    plan, orders = assignment
    config = config_as_stored(orders["config"], "config of the training")
    replayable, chance = orders["measured"]
    torch.set_num_threads(config.runtime.torch_threads)
    pin(plan, config)
    if plan.groups:
        take_turns()
    blueprint = blueprint_of(
        config, registry.spec(config.env.name, allow_files=True, measured=(replayable, chance))
    )
    keep_freed_memory(images=blueprint.sees_images)
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
    """Keep a worker that computes its own actions on one core, if there is one for each worker.

    Where a quota allows fewer cores than the machine has, other runs would choose the same cores.
    """
    cores = sorted(os.sched_getaffinity(0))
    if config.runtime.pin_workers and plan.local and config.runtime.workers == len(cores):
        os.sched_setaffinity(0, {cores[plan.groups[0]]})


def take_turns() -> None:
    """Schedule this process and its children as SCHED_BATCH, so that none interrupts another.

    A game in a process of its own is woken while the message to it is still locked. It would begin,
    find the lock, sleep and be woken again. With Doom these are half of all switches between the
    processes, and a tenth of the engine's time.
    """
    # A sandbox may forbid this call; everything works without it, only slower.
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def beat(row: Any) -> None:
    """Show signs of life on the board, from a thread that stops only with the process.

    The first comes at once, because building the components may take longer than a process may be
    silent.
    """
    row.beat()

    def show() -> None:
        while not stopped.wait(BEAT_EVERY_S):
            row.beat()

    stopped = threading.Event()
    threading.Thread(target=show, name="beat", daemon=True).start()
