"""The HTTP server, which ends within a second whatever is open."""

import asyncio
import signal
import socket
import threading
from types import FrameType

import uvicorn

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


def ignore_signals() -> None:
    """uvicorn raises a signal again after it has shut down; everything is done by then."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: None)
