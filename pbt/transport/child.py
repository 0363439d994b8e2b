"""Child processes that speak over a channel: how they are started, heard and stopped.

What a child does is said by its program and its first message.
"""

import atexit
import os
import selectors
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import psutil

from pbt.envs.voice import DESCRIPTOR, apart
from pbt.processes.child_process import ChildProcess, Forked, ending
from pbt.processes.fork_server import ForkServer
from pbt.processes.messages import Failed, Stop
from pbt.processes.tie_to_parent import LEFT_TO_MAIN
from pbt.processes.watched_time import WatchedTime
from pbt.transport.channel import Channel, PeerGone, channel_pair
from pbt.transport.wire import Wire

STOP_TIMEOUT_S = 5.0
END_TIMEOUT_S = 0.5
STDERR = 2
# Torch alone takes seconds to load on a busy machine.
START_TIMEOUT_S = 180.0
LOADS = ("pbt.runtime.process",)
"""What every child needs, and takes long to load."""


# By the threads of numerical libraries, the server that forks the children of this process.
_SERVERS: dict[str, ForkServer] = {}


def _forked(
    program: str,
    argument: str,
    environment: Mapping[str, str],
    descriptors: Sequence[int],
    stream: int,
) -> Forked | None:
    """A child that was forked; None where it is to be started. stream: for what it prints."""
    # Only Linux gives the orphans of a process to another one than the first.
    if sys.platform != "linux":
        return None
    threads = environment["OMP_NUM_THREADS"]
    if threads not in _SERVERS:
        _SERVERS[threads] = ForkServer(LOADS, environment)
        atexit.register(_SERVERS[threads].close)
    server = _SERVERS[threads]
    try:
        return server.fork(program, [argument], environment, descriptors, (stream, stream))
    except OSError:
        return None


class Wires(NamedTuple):
    """The message types of both directions, as `pbt.transport.wire.Wire` numbers them.

    outgoing  parent -> child; the child's incoming
    incoming  child -> parent; the child's outgoing
    """

    outgoing: tuple[type[Any], ...]
    incoming: tuple[type[Any], ...]


class Child(ChildProcess):
    """One process and the channel to it. It dies with this process (`pbt.processes.tie_to_parent`).

    ready    it has said that everything is built; set by the caller, where it is used
    gone     its end of the channel is closed
    failure  what it said of its own end
    """

    def __init__(
        self,
        name: str,
        program: str,
        wires: Wires,
        first: Any,
        descriptors: Sequence[int] = (),
        threads: int = 1,
    ) -> None:
        """Start `python -P -m program DESCRIPTOR`, which begins with `settle`; send it `first`.

        descriptors  of shared memory and queues, open in the child under the same numbers
        threads      of its numerical libraries
        """
        ours, theirs = channel_pair()
        self.name, self.started_s = name, time.monotonic()
        self.ready = self.gone = False
        self.failure: Failed | None = None
        argument, inherited = str(theirs.fileno()), (theirs.fileno(), *descriptors)
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        # What a game prints must not get between the lines of `--json`, or of a display.
        stream = DESCRIPTOR if apart() else STDERR
        if forked := _forked(program, argument, environment, inherited, stream):
            self._adopt(forked)
        else:
            super().__init__(
                # -P: a user's folder that holds an `arena.py` must not be imported instead of ours.
                [sys.executable, "-P", "-m", program, argument],
                stdout=stream,
                stderr=stream,
                descriptors=inherited,
                environment=environment,
                # A Ctrl-C must not reach it before it has its handlers; `settle` unblocks these.
                blocked=LEFT_TO_MAIN,
            )
        theirs.close()
        self.channel = Channel(
            ours, outgoing=Wire(wires.outgoing), incoming=Wire(wires.incoming), blocking_send=False
        )
        self.send(first)

    def send(self, *messages: Any) -> None:
        """Never waits; to a process that is gone it says nothing."""
        if not self.gone:
            try:
                self.channel.send_many(messages)
            except PeerGone:
                self.gone = True

    def receive(self) -> list[Any]:
        """What has arrived. At the end of the stream `gone` is set."""
        if self.gone:
            return []
        try:
            self.channel.flush()
            messages = self.channel.receive()
        except PeerGone:
            self.gone = True
            return []
        for message in messages:
            if isinstance(message, Failed):
                self.failure = message
        return messages

    def last_words(self) -> Iterator[Any]:
        """Everything it still sent before it ended; only after its death."""
        while not self.gone and (messages := self.receive()):
            yield from messages

    def is_stopped(self) -> bool:
        """By a signal, not by its own end."""
        try:
            return bool(psutil.Process(self.pid).status() == psutil.STATUS_STOPPED)
        except psutil.NoSuchProcess:
            return False

    def close(self) -> None:
        self.channel.close()

    def epitaph(self) -> str:
        """How it ended, in words."""
        if self.failure is not None:
            return f"{self.name} failed: {self.failure.kind}: {self.failure.text}"
        watched = WatchedTime()
        # The end of its channel is seen a moment before its own.
        while not self.has_ended():
            if watched.look() > END_TIMEOUT_S:
                return f"{self.name} closed its channel"
            time.sleep(0.01)
        code = self.kill()
        assert code is not None, "it has ended"
        return f"{self.name} (pid {self.pid}) {ending(code)}"


def hear(children: Sequence[Child], timeout_s: float) -> Iterator[tuple[Child, Any]]:
    """Messages of all children; waits at most timeout_s for the first.

    What the children's sockets could not take before is sent as well.
    """
    # One system call waits. Epoll, which is the default, would need several for each wait.
    with selectors.PollSelector() as selector:
        for child in children:
            if not child.gone:
                events = selectors.EVENT_READ | (
                    selectors.EVENT_WRITE if child.channel.pending else 0
                )
                selector.register(child.channel.fileno(), events, child)
        if not selector.get_map():
            time.sleep(timeout_s)
            return
        ready = selector.select(timeout_s)
    for key, _ in ready:
        for message in key.data.receive():
            yield key.data, message


def stop_all(children: Sequence[Child]) -> None:
    """Ask them to leave, then make them. Returns when all are gone.

    One that is not ready yet has nothing to lose, and would not listen while it loads its parts.
    """
    for child in children:
        child.send(Stop())
    watched = WatchedTime()
    waiting = [child for child in children if child.ready and not child.has_ended()]
    while waiting and watched.look() < STOP_TIMEOUT_S:
        for _ in hear(waiting, 0.05):
            """What they say now comes too late."""
        waiting = [child for child in waiting if not child.has_ended() and not child.gone]
    for child in children:
        child.kill()
        child.close()
