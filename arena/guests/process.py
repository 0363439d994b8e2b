"""Guest processes: programs that are started, asked for moves by a deadline, and ended.

Every wait has a deadline, every line a limit, and no process is left behind.
"""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from arena.guests import launcher
from arena.guests.program import GuestProgram
from arena.guests.protocol import MAX_LINE_BYTES, GuestFault, shown
from pbt.processes.child_process import ChildProcess, ending
from pbt.processes.watched_time import WatchedTime

# How long a program may take to leave by itself once its input ended.
LEAVE_S = 1.0
# Between the end of its output and its own.
_DEATH_S = 0.5
_KILL_S = 5.0
_STDERR_BYTES = 2_000
_CHUNK = 65_536
_GLANCE_S = 0.01
# Of standard error at a time: a program may write without end.
_CHUNKS = 16


class GuestProcess:
    """One running program behind its launcher.

    Its pipes are served only while it is asked, so a program that writes too much waits.
    Raises: GuestFault when the launcher cannot be started.
    """

    def __init__(self, program: GuestProgram) -> None:
        command = [
            sys.executable,
            "-I",
            "-S",
            str(Path(launcher.__file__)),
            str(os.getpid()),
            *program.command,
        ]
        try:
            self._process = ChildProcess(
                command,
                session=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                buffered=False,
            )
        except OSError as error:
            raise GuestFault(f"could not be started: {error}") from error
        self.stdin = cast(IO[bytes], self._process.stdin)
        self.stdout = cast(IO[bytes], self._process.stdout)
        self.stderr = cast(IO[bytes], self._process.stderr)
        for stream in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(stream.fileno(), False)
        self.unsent, self._said, self._errors = bytearray(), bytearray(), bytearray()
        self.ended = self.errors_ended = False

    @property
    def pid(self) -> int:
        """Of the launcher."""
        return self._process.pid

    def tell(self, said: bytes) -> None:
        """Say something that needs no answer; what the program does not take now follows later."""
        self.unsent += said
        self.write()

    def write(self) -> None:
        with suppress(BlockingIOError):
            while self.unsent:
                try:
                    del self.unsent[: os.write(self.stdin.fileno(), self.unsent[:_CHUNK])]
                except BrokenPipeError:
                    # Its end shows on the other pipe.
                    self.unsent.clear()

    def read(self) -> None:
        """Take what stands in the pipe, not more than a line may hold."""
        with suppress(BlockingIOError):
            while not self.ended and len(self._said) <= MAX_LINE_BYTES:
                chunk = os.read(self.stdout.fileno(), _CHUNK)
                self._said += chunk
                self.ended = not chunk

    def read_errors(self) -> None:
        with suppress(BlockingIOError):
            for _ in range(_CHUNKS):
                chunk = b"" if self.errors_ended else os.read(self.stderr.fileno(), _CHUNK)
                self._errors = (self._errors + chunk)[-_STDERR_BYTES:]
                self.errors_ended = not chunk

    def line(self) -> bytes | None:
        """The next whole line. Raises: GuestFault for one without end, and when the program
        ended.
        """
        text, newline, rest = self._said.partition(b"\n")
        if len(text) > MAX_LINE_BYTES:
            raise GuestFault(
                f"said {shown(bytes(text))} without an end; expected a line of at most "
                f"{MAX_LINE_BYTES} bytes"
            )
        if newline:
            self._said = rest
            return bytes(text)
        if self.ended:
            raise GuestFault(f"{self._how_it_ended()}; expected an answer")
        return None

    def check_quiet(self) -> None:
        """Raises: GuestFault when the program wrote something before it was asked."""
        self.read()
        if self._said:
            raise GuestFault(
                f"said {shown(bytes(self._said))} without being asked; expected exactly one "
                "line for each question"
            )

    def _how_it_ended(self) -> str:
        code = self._process.wait(_DEATH_S)
        if code is None:
            return "closed its output"
        return ending(code) if code < 0 else f"ended with exit code {code}"

    @property
    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        self.read_errors()
        return self._errors.decode(errors="replace").strip()

    def hang_up(self) -> None:
        """Nothing more will be said: a well-behaved program leaves."""
        self.write()
        self.stdin.close()

    def has_left(self) -> bool:
        return self._process.has_ended()

    def end(self) -> None:
        """End it, and all it started, unless it has left by itself. After `hang_up`."""
        if self._process.exit_code() is None:
            self._process.terminate()
            if self._process.wait(_KILL_S) is None:
                self._process.kill(_KILL_S)
        self.stdout.close()
        self.stderr.close()


def end_all(processes: Sequence[GuestProcess], patience_s: float = LEAVE_S) -> None:
    for process in processes:
        process.hang_up()
    watched = WatchedTime()
    while watched.look() < patience_s and not all(process.has_left() for process in processes):
        time.sleep(_GLANCE_S)
    for process in processes:
        process.end()


@dataclass(frozen=True)
class Question:
    """A line that is sent to a guest, and the time it has to answer.

    process    the guest
    said       the line, with its end
    timeout_s  of the answer
    """

    process: GuestProcess
    said: bytes
    timeout_s: float


def ask_all(questions: Sequence[Question]) -> list[bytes | GuestFault]:
    """Ask several processes at the same time. Returns their answers, in order: a line, or what
    went wrong.
    """
    answers: dict[int, bytes | GuestFault] = {}
    with selectors.DefaultSelector() as selector:
        for index, question in enumerate(questions):
            try:
                question.process.check_quiet()
                question.process.tell(question.said)
                _watch(selector, question.process)
            except GuestFault as fault:
                answers[index] = fault
        watched = WatchedTime()
        while len(answers) < len(questions):
            waiting = [index for index in range(len(questions)) if index not in answers]
            limit_s = min(questions[index].timeout_s for index in waiting)
            for key, _ in selector.select(watched.slice_s(limit_s)):
                process, what = key.data
                if _serve(process, what):
                    selector.unregister(key.fileobj)
            waited_s = watched.look()
            for index in waiting:
                if (answer := _answer(questions[index], waited_s)) is not None:
                    answers[index] = answer
                    _forget(selector, questions[index].process)
    return [answers[index] for index in range(len(questions))]


def _watch(selector: selectors.BaseSelector, process: GuestProcess) -> None:
    selector.register(process.stdout, selectors.EVENT_READ, (process, "said"))
    if not process.errors_ended:
        selector.register(process.stderr, selectors.EVENT_READ, (process, "errors"))
    if process.unsent:
        selector.register(process.stdin, selectors.EVENT_WRITE, (process, "unsent"))


def _forget(selector: selectors.BaseSelector, process: GuestProcess) -> None:
    """It was answered: what it says from now on waits in its pipes."""
    for stream in (process.stdin, process.stdout, process.stderr):
        with suppress(KeyError):
            selector.unregister(stream)


def _serve(process: GuestProcess, what: str) -> bool:
    """One of its pipes is ready. Returns whether that is done with."""
    if what == "said":
        process.read()
        return process.ended
    if what == "errors":
        process.read_errors()
        return process.errors_ended
    process.write()
    return not process.unsent


def _answer(question: Question, waited_s: float) -> bytes | GuestFault | None:
    late = waited_s >= question.timeout_s
    try:
        if late:
            # It may have answered since the pipe was read last.
            question.process.read()
        said = question.process.line()
    except GuestFault as fault:
        return fault
    if said is None and late:
        return GuestFault(
            f"gave no answer for {question.timeout_s:g} s; expected one line within that time"
        )
    return said
