"""Processes for the tests of the process group, and a main process to be killed.

They are the real `pbt.runtime.process` around hosts that misbehave as told.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pbt.processes.messages import Failed
from pbt.processes.tie_to_parent import leave, settle
from pbt.runtime import process
from pbt.runtime.control import Assignment, GameError, Go, Pause, Quiet, Ready
from pbt.runtime.placements import ProcessPlan
from pbt.runtime.process_group import start_child
from pbt.transport.channel import Channel
from pbt.transport.child import Child, hear
from pbt.transport.fifo import attach_fifo, make_fifo
from pbt.transport.memory import Region
from pbt.transport.messages import JsonState
from pbt.transport.process_board import ProcessBoard, Row, board_bytes

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAM = "tests.pbt.runtime.group_programs"


def assignment(what: str, **facts: Any) -> JsonState:
    return {"config": {"runtime": {"torch_threads": 1}}, "what": what, **facts}


class MadeUpHost:
    """Answers Pause with Quiet; when it works it does what its name says."""

    def __init__(self, orders: JsonState, channel: Channel, row: Row) -> None:
        self._orders, self._channel, self._row = orders, channel, row

    def hear(self, message: Any) -> None:
        if isinstance(message, Pause):
            self._channel.send(Quiet())

    def work(self) -> bool:
        return bool(getattr(self, self._orders["what"])())

    def idle(self) -> bool:
        return False

    def busy(self) -> None:
        while True:
            """A game that never returns, and shows nothing of it."""

    def game(self) -> None:
        self._row.enter("game", 7)
        threading.Event().wait()

    def learning(self) -> None:
        self._row.enter("learning")
        threading.Event().wait()

    def on_channel(self) -> None:
        while True:
            self._channel.wait(3600.0)

    def on_fifo(self) -> None:
        attach_fifo(self._orders["fifo"]).get_many(3600.0)

    def exit(self) -> None:
        os._exit(3)

    def engine(self) -> None:
        """Like a game with an engine of its own."""
        with subprocess.Popen(["sleep", "600"]):
            threading.Event().wait()

    def hang_up(self) -> None:
        self._channel.close()
        threading.Event().wait()

    def fail(self) -> None:
        raise ValueError("made up")

    def last_words(self) -> None:
        for number in range(500):
            self._channel.send(GameError(str(number), "x" * 300))
        os.kill(os.getpid(), signal.SIGKILL)


def build(given: Assignment, channel: Channel) -> tuple[list[Any], Row]:
    fd, processes, index = given.orders["board"]
    row = ProcessBoard(processes, Region.attach(fd, board_bytes(processes))).row(index)
    process.beat(row)
    return [MadeUpHost(given.orders, channel, row)], row


class Parent:
    """A main process with children of every sort, which a test interrupts and kills.

    It prints a line per thing that happened.
    """

    def __init__(self, whats: Sequence[str]) -> None:
        self._board = Region.create("board", board_bytes(len(whats)))
        fifos = {
            what: make_fifo(what, 1 << 20) for what in whats if what in ("faster_fifo", "sockets")
        }
        self.children = []
        for index, what in enumerate(whats):
            orders = assignment(
                "on_fifo" if what in fifos else what, board=[self._board.fd, len(whats), index]
            )
            descriptors = [self._board.fd]
            if what in fifos:
                orders["fifo"] = fifos[what].handle()
                descriptors += fifos[what].descriptors
            self.children.append(start_child(ProcessPlan(what), orders, descriptors, PROGRAM))

    def expect(self, message: type[Any], children: Sequence[Child]) -> None:
        """Wait until each has said so."""
        waited = {child.name for child in children}
        while waited:
            for child, heard in hear(self.children, 1.0):
                assert not isinstance(heard, Failed), heard
                if isinstance(heard, message):
                    waited.remove(child.name)
            gone = [child.epitaph() for child in self.children if child.gone]
            assert not gone, gone

    def run(self) -> None:
        # Handlers, since ignored signals would be ignored by the children from birth.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        say("pids", *(child.pid for child in self.children))
        sys.stdin.readline()
        self.expect(Ready, self.children)
        say("ready")
        sys.stdin.readline()
        for child in self.children:
            child.send(Pause(1))
        self.expect(Quiet, self.children)
        for child in self.children:
            child.send(Go(), Pause(2))
        # What cannot hear any more says so by its silence; those that can are at work when they
        # have answered.
        self.expect(Quiet, self.children)
        say("working")
        sys.stdin.readline()


def say(*words: object) -> None:
    print(*words, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "parent":
        Parent(sys.argv[2:]).run()
    else:
        settle(int(sys.argv[1]))
        process.build = build
        leave(process.main(int(sys.argv[1])))
