"""The table's end of its match: it starts the match's process, asks it with a deadline, ends it."""

import json
import os
import select
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from math import inf
from pathlib import Path
from typing import BinaryIO

from pbt.envs.doom import strays
from pbt.envs.doom.engine import last_words, watched
from pbt.envs.doom.launcher import ENGINE_LOG
from pbt.envs.doom.match_memory import MatchMemory
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.match_process import COMMAND, DONE, FAILED
from pbt.errors import EnvCrash
from pbt.native import doom_preload
from pbt.processes.child_process import ChildProcess, ending
from pbt.processes.watched_time import WatchedTime

_PROGRAM = ("-m", "pbt.envs.doom.match_process")
_LARGEST_TEXT = 4096
_PROCESS_LOG = "process.log"
_YOUNG_S = 1.0
# A killed process is gone in microseconds, except on an overloaded machine.
_GONE_S = 10.0
_STARTING = threading.Lock()


class MatchLink:
    """A match, running from `start` on.

    options   those of the match
    measured  names of game variables, in the order of `memory.measured`
    Raises: EnvCrash when it is made, and by `start` and `finish`; the match and all its engines are
    gone then.
    """

    def __init__(self, options: MatchOptions, measured: Sequence[str]) -> None:
        """Start the process that will start the engines."""
        self._options, self.started = options, False
        self._logs: dict[str, BinaryIO] = {}
        # A match that was ended in its start leaves names in /dev/shm. The youngest cannot be told
        # from names of a match that starts now.
        strays.remove_strays(_YOUNG_S)
        self._folder = Path(tempfile.mkdtemp(prefix=strays.folder_prefix(os.getpid())))
        self._socket, theirs = socket.socketpair()
        descriptor = os.memfd_create("doom-match")
        try:
            seen = (options.height, options.width)
            self.memory = MatchMemory(
                descriptor, options.players, len(options.button_names), len(measured), seen
            )
            self._process = self._new_process(theirs.fileno(), descriptor, measured)
        except BaseException:
            self._socket.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        finally:
            theirs.close()
            os.close(descriptor)
        self._starting = WatchedTime()
        self._answer_by(self._starting, options.start_limit_s, self._late_start)

    def _new_process(self, channel: int, memory: int, measured: Sequence[str]) -> ChildProcess:
        """The match's process. channel, memory: descriptors that it gets."""
        options = self._options
        preload = doom_preload() if options.lock_step != "barrier" else None
        plan = {
            "parent": os.getpid(),
            "socket": channel,
            "memory": memory,
            "folder": str(self._folder),
            "preload": str(preload or ""),
            "measured": list(measured),
            "options": {**asdict(options), "terms": ()},
        }
        command = [sys.executable, "-P", *_PROGRAM, json.dumps(plan)]
        # The watcher waits for the end of the match's process as well: engines may be starting.
        passed = (channel, memory, watched(os.getpid()))
        with open(os.devnull, "rb") as nothing, (self._folder / _PROCESS_LOG).open("wb") as log:
            # In a session of its own, so that a terminal's signals do not reach it.
            started = _starter().submit(
                ChildProcess,
                command,
                session=True,
                stdin=nothing,
                stdout=log,
                stderr=log,
                descriptors=passed,
            )
            return started.result()

    def start(self, seed: int) -> None:
        """Start the engines."""
        self.begin(b"S", seed)
        self._answer_by(self._starting, self._options.start_limit_s, self._late_start)
        self.started = True
        self._logs = self._opened_logs()
        for words in self._logs.values():
            words.seek(0, os.SEEK_END)
        shutil.rmtree(self._folder, ignore_errors=True)

    def begin(self, letter: bytes, number: int) -> None:
        """Send a command of match_process without waiting for the answer. Raises nothing."""
        self._asked = WatchedTime()
        # Where the process is gone and reads nothing, `finish` finds that out.
        with suppress(OSError):
            self._socket.sendall(COMMAND.pack(letter, number))

    def answered(self, timeout_s: float) -> bool:
        """Whether `finish` returns or raises at once, after waiting for at most so long."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        left_s = self._asked.slice_s(self._options.deadline_s)
        return bool(poll.poll(min(timeout_s, max(left_s, 0.0)) * 1000)) or left_s <= 0

    def finish(self, beginning: WatchedTime | None = None) -> None:
        """Wait for the answer.

        beginning  what the beginning of the game took so far, for a step that belongs to it
        """
        options = self._options
        start_left_s = inf if beginning is None else options.start_limit_s - beginning.look()
        if beginning is not None and start_left_s < options.deadline_s - self._asked.look():
            self._answer_by(
                beginning,
                options.start_limit_s,
                (
                    f"a game did not begin within {options.start_limit_s:g} s: an engine is "
                    "stuck, stopped or too slow"
                ),
            )
        else:
            self._answer_by(
                self._asked,
                options.deadline_s,
                (
                    f"no answer to a step within {options.deadline_s:g} s: an engine is stuck or "
                    "stopped"
                ),
            )

    def close(self) -> None:
        """End the process and its engines, and return when the process is gone.

        That includes engines that were stopped before they asked to end with it.
        """
        self._socket.close()
        # Engines stay in the group that the process was started with.
        self._process.kill(_GONE_S)
        for log in self._logs.values():
            log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _opened_logs(self) -> dict[str, BinaryIO]:
        """Open log files by the name of the process that writes them, as far as they exist.

        They can be read when their folder is gone.
        """
        seats = range(self._options.players)
        paths = {
            "its process": self._folder / _PROCESS_LOG,
            **{
                f"the engine of player{n + 1}": self._folder / f"seat{n}" / ENGINE_LOG
                for n in seats
            },
        }
        return {writer: path.open("rb") for writer, path in paths.items() if path.exists()}

    @property
    def _late_start(self) -> str:
        return (
            f"no answer to a start within {self._options.start_limit_s:g} s: an engine is "
            "stuck, stopped or did not connect"
        )

    def _answer_by(self, watched: WatchedTime, limit_s: float, late: str) -> None:
        """Wait for an answer until `limit_s` seconds were watched.

        late  the text of the error when it does not come
        Raises: EnvCrash for a late answer, a failure or the end of the process.
        """
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while not poll.poll((slice_s := watched.slice_s(limit_s)) * 1000):
            if slice_s <= 0:
                raise self.crash(late)
        try:
            answer = self._socket.recv(_LARGEST_TEXT)
        except OSError:
            answer = b""
        if answer == DONE:
            return
        if answer.startswith(FAILED):
            raise self.crash(answer[1:].decode(errors="replace"))
        code = self._process.wait(_GONE_S)
        raise self.crash(f"its process {'closed its channel' if code is None else ending(code)}")

    def crash(self, found: str) -> EnvCrash:
        """End the match. Returns the error to raise."""
        # The logs begin after the start; those of a match that ends in its start are whole.
        self._logs = self._logs or self._opened_logs()
        words = [last_words(log.read(), writer) for writer, log in self._logs.items()]
        self.close()
        options = self._options
        return EnvCrash(
            f"the Doom match of {options.players} in {options.scenario!r} ended: "
            f"{found}{''.join(words)}; the table starts another one"
        )


def _starter() -> ThreadPoolExecutor:
    """A thread that lasts, which starts the processes of matches.

    The system ends a match when the thread that started it ends, and a table may be used by another
    thread later.
    """
    # Without the lock, two threads could be made at once, and one of them would end right away.
    with _STARTING:
        return _one_starter()


@cache
def _one_starter() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "doom-match-starter")
