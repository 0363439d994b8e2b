"""A table's end of its match: starts the process of the engines, asks it with a deadline, and
ends it.
"""

import json
import os
import select
import shutil
import socket
import sys
import tempfile
import threading
import time
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

_PROGRAM = ("-m", "pbt.envs.doom.match_process")
_LARGEST_TEXT = 4096
_PROCESS_LOG = "process.log"
_YOUNG_S = 1.0
# What is killed is gone in microseconds, unless the machine is on its knees.
_GONE_S = 10.0
_STARTING = threading.Lock()


class MatchLink:
    """A match, running from `start` on. Its making, `start` and `finish` raise EnvCrash, after
    which it is gone with all its engines.
    """

    def __init__(self, options: MatchOptions, measured: Sequence[str]) -> None:
        """Start the process that will start the engines. measured: names of game variables, in
        the order of `memory.measured`.
        """
        self._options, self.started = options, False
        self._logs: dict[str, BinaryIO] = {}
        # Of a match that was ended in its start there are names, too young to be told from those of
        # one that starts now.
        strays.remove_strays(_YOUNG_S)
        self._folder = Path(tempfile.mkdtemp(prefix=strays.folder_prefix(os.getpid())))
        self._socket, theirs = socket.socketpair()
        descriptor = os.memfd_create("doom-match")
        try:
            seen = (options.height, options.width)
            self.memory = MatchMemory(
                descriptor, options.players, len(options.button_names), len(measured), seen
            )
            preload = doom_preload() if options.lock_step != "barrier" else None
            plan = {
                "parent": os.getpid(),
                "socket": theirs.fileno(),
                "memory": descriptor,
                "folder": str(self._folder),
                "preload": str(preload or ""),
                "measured": list(measured),
                "options": {**asdict(options), "terms": ()},
            }
            command = [sys.executable, "-P", *_PROGRAM, json.dumps(plan)]
            # The watcher waits for this one's end, too: its engines may be starting.
            passed = (theirs.fileno(), descriptor, watched(os.getpid()))
            with open(os.devnull, "rb") as nothing, (self._folder / _PROCESS_LOG).open("wb") as log:
                # A session of its own: what a terminal sends to this one's group is not for it.
                started = _starter().submit(
                    ChildProcess,
                    command,
                    session=True,
                    stdin=nothing,
                    stdout=log,
                    stderr=log,
                    descriptors=passed,
                )
                self._process = started.result()
        except BaseException:
            self._socket.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        finally:
            theirs.close()
            os.close(descriptor)
        began_s = time.monotonic()
        self._answer_by(options.start_limit_s, self._late_start)
        self._start_left_s = options.start_limit_s - (time.monotonic() - began_s)

    def start(self, seed: int) -> None:
        """Start the engines."""
        self.begin(b"S", seed)
        self._answer_by(self._start_left_s, self._late_start)
        self.started = True
        self._logs = self._opened_logs()
        for words in self._logs.values():
            words.seek(0, os.SEEK_END)
        shutil.rmtree(self._folder, ignore_errors=True)

    def begin(self, letter: bytes, number: int) -> None:
        """Send a command of match_process, and do not wait. Raises nothing."""
        self._asked_s = time.monotonic()
        # Where nobody reads, `finish` finds the end of the process.
        with suppress(OSError):
            self._socket.sendall(COMMAND.pack(letter, number))

    def finish(self, begun_by_s: float = inf) -> None:
        """Wait for the answer. begun_by_s: on the clock time.monotonic(), when the game that
        this is a step into must have begun.
        """
        now_s, options = time.monotonic(), self._options
        left_s = self._asked_s + options.deadline_s - now_s
        if begun_by_s - now_s < left_s:
            self._answer_by(
                begun_by_s - now_s,
                (
                    f"a game did not begin within {options.start_limit_s:g} s: an engine is "
                    "stuck, stopped or too slow"
                ),
            )
        else:
            self._answer_by(
                left_s,
                (
                    f"no answer to a step within {options.deadline_s:g} s: an engine is stuck or "
                    "stopped"
                ),
            )

    def close(self) -> None:
        """End the process and its engines, those as well that stand still before they have asked
        to end with it. Returns when it is gone.
        """
        self._socket.close()
        # Engines stay in the group that the process was started with.
        self._process.kill(_GONE_S)
        for log in self._logs.values():
            log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _opened_logs(self) -> dict[str, BinaryIO]:
        """By who writes it, as far as there is one. They can be read when their folder is gone."""
        seats = range(self._options.players)
        paths = {
            "its process": self._folder / _PROCESS_LOG,
            **{
                f"the engine of player{n + 1}": self._folder / f"seat{n}" / ENGINE_LOG
                for n in seats
            },
        }
        return {who: path.open("rb") for who, path in paths.items() if path.exists()}

    @property
    def _late_start(self) -> str:
        return (
            f"no answer to a start within {self._options.start_limit_s:g} s: an engine is "
            "stuck, stopped or did not connect"
        )

    def _answer_by(self, timeout_s: float, late: str) -> None:
        """late: what to say when the answer is."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(max(0.0, timeout_s) * 1000):
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
        """End the match. Returns what to raise."""
        # Of what was said since the start, or in it, if it ends there.
        self._logs = self._logs or self._opened_logs()
        words = [last_words(log.read(), who) for who, log in self._logs.items()]
        self.close()
        options = self._options
        return EnvCrash(
            f"the Doom match of {options.players} in {options.scenario!r} ended: "
            f"{found}{''.join(words)}; the table starts another one"
        )


def _starter() -> ThreadPoolExecutor:
    """A thread that lasts: the system ends a match when the thread that started it ends, and a
    table may be used by another.
    """
    # Of two that were made at a time, one would end right away.
    with _STARTING:
        return _one_starter()


@cache
def _one_starter() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "doom-match-starter")
