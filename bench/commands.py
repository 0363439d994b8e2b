"""Commands of the program that a benchmark runs: started anew, or as forks of the benchmark."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, NamedTuple

from arena.cli.app import run


class Forked:
    """A command in a fork of this process, with the methods of `subprocess.Popen` that are used."""

    def __init__(self, words: Sequence[str], out: IO[str], err: IO[str]) -> None:
        self._words, self._out, self._err = words, out, err
        self._process = multiprocessing.get_context("fork").Process(target=self._run)
        self._process.start()

    def _run(self) -> None:
        os.dup2(self._out.fileno(), 1)
        os.dup2(self._err.fileno(), 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        code = run(list(self._words))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(list(self._words), timeout)
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


Command = Forked | subprocess.Popen[str]


class Done(NamedTuple):
    """A command that ended."""

    returncode: int
    stdout: str
    stderr: str


def start(words: Sequence[str], out: IO[str], err: IO[str], *, forked: bool) -> Command:
    """Start `arena WORDS`; a fork needs no time to load the program."""
    if forked:
        return Forked(words, out, err)
    return subprocess.Popen([sys.executable, "-P", "-m", "arena", *words], stdout=out, stderr=err)
