"""What the service listens on: an address with a port, or a Unix socket."""

import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from api.http.settings import Settings
from pbt.errors import PbtError

SOCKET_MODE = 0o660
"""A proxy connects as the socket's owner or in its group."""
CONNECT_S = 2.0
_CREDENTIALS = struct.Struct("3i")
"""Of the process that listens: pid, user, group (`man 7 unix`, SO_PEERCRED)."""


@contextmanager
def listening_on(settings: Settings) -> Iterator[socket.socket]:
    """The listening socket of a service; a Unix socket's file is removed at the end.

    Raises: PbtError that says what to do when another process listens there.
    """
    if settings.unix_socket is None:
        with listen(settings.host, settings.port) as listening:
            yield listening
        return
    with listen_unix(settings.unix_socket) as listening:
        yield listening


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises: PbtError that says what to do when the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is given, so that asyncio knows accepted sockets as TCP and turns Nagle's
    # algorithm off; else small packets would wait for one another.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # A client that connects before the service is ready waits, instead of being refused.
        listening.listen()
    except OSError as error:
        listening.close()
        raise PbtError(
            f"cannot listen on {in_url(host)}:{port}: {error.strerror}{_holder(port)}; choose "
            "another port with --port, or --port 0 for any free one"
        ) from error
    return listening


def in_url(host: str) -> str:
    """The host as it stands in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def _holder(port: int) -> str:
    """Which process listens on the port, where the system tells; else ""."""
    try:
        for taken in psutil.net_connections("tcp"):
            here = getattr(taken.laddr, "port", None) == port
            if here and taken.status == psutil.CONN_LISTEN and taken.pid is not None:
                return f", by process {_named(taken.pid)}"
    except (psutil.Error, OSError):
        pass
    return ""


def _named(pid: int) -> str:
    """A process with its name, where it can be read."""
    try:
        return f"{pid} ({psutil.Process(pid).name()})"
    except psutil.Error:
        return str(pid)


@contextmanager
def listen_unix(path: Path) -> Iterator[socket.socket]:
    """A Unix socket that listens, of mode 660; its file is removed at the end.

    What a service that was killed left there is replaced. Raises: PbtError when a process listens
    on it, when something else is there, and when it cannot be made.
    """
    _refuse_taken(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # It gets its name once it can be called: a proxy never meets one that refuses.
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        with suppress(FileNotFoundError):
            fresh.unlink()
        listening.bind(str(fresh))
        fresh.chmod(SOCKET_MODE)
        listening.listen()
        fresh.rename(path)
        made = path.lstat()
    except OSError as error:
        listening.close()
        raise PbtError(
            f"cannot listen on {path}: {error.strerror or error}; name a file of at most 90 "
            "characters in a folder that this account may write to with --unix-socket"
        ) from error
    try:
        yield listening
    finally:
        listening.close()
        with suppress(OSError):
            now = path.lstat()
            if (now.st_dev, now.st_ino) == (made.st_dev, made.st_ino):
                path.unlink()


def _refuse_taken(path: Path) -> None:
    """Raises: PbtError unless there is nothing, or a socket on which no process listens."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError:
        return  # the bind says why
    if not stat.S_ISSOCK(mode):
        raise PbtError(
            f"cannot listen on {path}: it is there and is no socket; name another file with "
            "--unix-socket"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(CONNECT_S)
        try:
            caller.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return
        except OSError as error:
            raise PbtError(
                f"cannot listen on {path}: whether a process listens there cannot be told: "
                f"{error}; end that process, or name another file with --unix-socket"
            ) from error
        found = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid = _CREDENTIALS.unpack(found)[0]
    raise PbtError(
        f"cannot listen on {path}: process {_named(pid)} listens there already; end it, or name "
        "another file with --unix-socket"
    )
