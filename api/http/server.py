"""The HTTP server, which ends within a second whatever is open."""

import asyncio
import signal
import socket
import threading
from types import FrameType

import psutil
import uvicorn

from pbt.errors import PbtError

DRAIN_S = 0.5
"""Answers that take longer than this after a stop are cut off: downloads go on by ranges."""


class Server(uvicorn.Server):
    """uvicorn's server. Streams of events end by themselves once `closing` is set.

    closing  is set when a signal asks the service to stop
    """

    def __init__(self, config: uvicorn.Config, closing: threading.Event) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._closing.set()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all connections: idle ones at once, the others when they are done or late."""
        self._closing.set()
        late = asyncio.get_running_loop().call_later(DRAIN_S, self._cut)
        await super().shutdown(sockets)
        late.cancel()

    def _cut(self) -> None:
        for connection in list(self.server_state.connections):
            transport = getattr(connection, "transport", None)
            if transport is not None:
                transport.abort()


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
            f"cannot listen on {host}:{port}: {error.strerror}{_holder(port)}; choose another port "
            "with --port, or --port 0 for any free one"
        ) from error
    return listening


def _holder(port: int) -> str:
    """Which process listens on the port, where the system tells; else ""."""
    try:
        for taken in psutil.net_connections("tcp"):
            here = getattr(taken.laddr, "port", None) == port
            if here and taken.status == psutil.CONN_LISTEN and taken.pid is not None:
                return f", by process {taken.pid} ({psutil.Process(taken.pid).name()})"
    except (psutil.Error, OSError):
        pass
    return ""


def ignore_signals() -> None:
    """uvicorn raises a signal again after it has shut down; everything is done by then."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: None)
