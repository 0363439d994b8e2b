"""On a file system without locks every command says so, at once and before it writes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

# What a network mount without locks answers to both calls.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int flock(int descriptor, int operation) { errno = ERROR; return -1; }

static int pass(const char *name, int descriptor, int command, void *argument) {
    if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK) {
        errno = ERROR;
        return -1;
    }
    int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
    return real(descriptor, command, argument);
}

#define PASSING(name)                              \
    int name(int descriptor, int command, ...) {   \
        va_list rest;                              \
        va_start(rest, command);                   \
        void *argument = va_arg(rest, void *);     \
        va_end(rest);                              \
        return pass(#name, descriptor, command, argument); \
    }
PASSING(fcntl)
PASSING(fcntl64)
"""


@pytest.fixture(params=["ENOLCK", "ENOSYS"])
def preloaded(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment of a program whose file systems have no locks."""
    source, library = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM.replace("ERROR", request.param))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {**os.environ, "LD_PRELOAD": str(library)}


def test_every_command_names_the_cause(preloaded: dict[str, str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    for command in (
        ("train", "connect_four", "--name", "one"),
        ("match", "random", "random", "--env", "tictactoe", "--games", "2"),
        ("doctor",),
    ):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "arena", *command, "--data", str(data)],
            env=preloaded,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0, command
        said = done.stdout if command == ("doctor",) else done.stderr
        assert "this file system has no locks" in said, said
        assert "locked" not in said and "held by" not in said
    assert not [path for path in data.rglob("*") if path.suffix == ".db"]
