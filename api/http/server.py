"""The HTTP server, which ends within a second whatever is open."""

import asyncio
import signal
import socket
from types import FrameType

import uvicorn

DRAIN_S = 0.5
"""Answers that take longer than this after a stop are cut off: downloads go on by ranges."""


class Closing:
    """Whether the service was asked to stop. Threads look; streams wait, and are woken at once."""

    def __init__(self) -> None:
        self._asked = False
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    def is_set(self) -> bool:
        return self._asked

    def set(self) -> None:
        """A signal's handler and any thread may call it."""
        self._asked = True
        for loop, woken in tuple(self._waiting):
            loop.call_soon_threadsafe(woken.set)

    async def wait(self, timeout_s: float) -> None:
        """Return when it is set, or after the time."""
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        self._waiting.add(waiter)
        try:
            if not self._asked:
                await asyncio.wait_for(waiter[1].wait(), timeout_s)
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(waiter)


class Server(uvicorn.Server):
    """uvicorn's server. Streams of events end by themselves once `closing` is set.

    closing  is set when a signal asks the service to stop
    """

    def __init__(self, config: uvicorn.Config, closing: Closing) -> None:
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
