"""A channel carries messages over one socket between two processes.

When the stream ends, a process knows that the other one is gone.
"""

import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

from pbt.errors import EngineError
from pbt.processes.watched_time import WatchedTime

_LENGTH = struct.Struct("<I")
# No message comes near this length, so a longer frame means that the stream is damaged.
_LONGEST_FRAME_BYTES = 1 << 28
_READ_BYTES = 1 << 18
# Most reads in one `receive`, so that one busy peer cannot keep its reader from the other peers.
_MOST_READS = 64


class PeerGone(EngineError):
    """The process at the other end has closed its socket, or has ended."""


class MessageCodec(Protocol):
    """Turns the messages of one direction into bytes and back, as `pbt.transport.wire.Wire`."""

    def encode(self, message: Any) -> bytes: ...

    def decode(self, payload: memoryview) -> Any: ...


def channel_pair() -> tuple[socket.socket, socket.socket]:
    """The two ends of a stream, both close-on-exec.

    A process that hands one end to a child must close its own copy of that end. While a copy is
    open the stream does not end, and the death of the child is not noticed.
    """
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)


class Channel:
    """One end of a stream. `send` may be called from any thread, all else from one thread.

    blocking_send=True   for a child: `send` returns when the system has taken the message, and
                         raises when the system takes nothing for `deadline_s`
    blocking_send=False  for the main process: `send` never waits and never fails for the peer's
                         sake; what the peer does not take stays in the outbox (`pending` bytes)
                         until `flush`. A message to a dead peer is dropped; `receive` then
                         raises PeerGone.
    """

    def __init__(
        self,
        sock: socket.socket,
        outgoing: MessageCodec,
        incoming: MessageCodec,
        *,
        blocking_send: bool = True,
        deadline_s: float = 30.0,
    ) -> None:
        # Subprocesses that a game starts must not keep the stream open after this process.
        sock.set_inheritable(False)
        sock.setblocking(False)
        self._socket = sock
        self._outgoing, self._incoming = outgoing, incoming
        self._blocking, self._deadline_s = blocking_send, deadline_s
        self._lock = threading.Lock()
        self._outbox = bytearray()
        self._inbox = bytearray()
        self._unsendable: str | None = None
        self._ended = False

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end; the peer sees the end of the stream."""
        self._socket.close()

    @property
    def pending(self) -> int:
        """Bytes in the outbox, to be sent by `flush`."""
        return len(self._outbox)

    def send(self, message: Any) -> None:
        self.send_many((message,))

    def send_many(self, messages: Sequence[Any]) -> None:
        """Send several messages, in one system call if the peer takes them at once.

        Raises EngineError when a message cannot travel; then none of them is sent. A blocking
        channel also raises PeerGone for a dead peer, and EngineError past the deadline.
        """
        frames = bytearray()
        for message in messages:
            payload = self._outgoing.encode(message)
            if len(payload) > _LONGEST_FRAME_BYTES:
                raise EngineError(
                    f"message {type(message).__name__} of {len(payload)} bytes; expected at "
                    f"most {_LONGEST_FRAME_BYTES}"
                )
            frames += _LENGTH.pack(len(payload)) + payload
        with self._lock:
            if self._unsendable is None:
                self._outbox += frames
                self._drain()
            if self._blocking:
                self._drain_all()

    def flush(self) -> bool:
        """Send what can be sent without waiting. True: nothing is pending.

        For a dead peer that is always so.
        """
        with self._lock:
            self._drain()
            return not self._outbox

    def _drain(self) -> None:
        """Give the system what it takes. The outbox for a dead peer is emptied."""
        try:
            while self._outbox:
                sent = self._socket.send(self._outbox)
                del self._outbox[:sent]
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            self._unsendable = "the process at the other end is gone"
            self._outbox.clear()

    def _drain_all(self) -> None:
        """Wait until the system has taken everything. Every byte it takes restarts the deadline."""
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        left, watched = len(self._outbox), WatchedTime()
        while self._outbox and self._unsendable is None:
            if len(self._outbox) < left:
                left, watched = len(self._outbox), WatchedTime()
            slice_s = watched.slice_s(self._deadline_s)
            if slice_s <= 0:
                # The peer may have got a part of a frame, so no other frame can follow it.
                self._unsendable = (
                    f"the process at the other end took nothing for {self._deadline_s:g} s"
                )
                self._outbox.clear()
                raise EngineError(f"channel: {self._unsendable}; it is blocked or stopped")
            poll.poll(slice_s * 1000)
            self._drain()
        if self._unsendable is not None:
            raise PeerGone(f"channel: {self._unsendable}")

    def wait(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s`; whether `receive` has something, be it the end of the stream.

        The outbox is sent meanwhile.
        """
        deadline_s = time.monotonic() + timeout_s
        poll = select.poll()
        while True:
            flushed = self.flush()
            poll.register(
                self._socket, select.POLLIN if flushed else select.POLLIN | select.POLLOUT
            )
            left_s = deadline_s - time.monotonic()
            ready = poll.poll(max(left_s, 0.0) * 1000)
            if any(events & ~select.POLLOUT for _, events in ready):
                return True
            if left_s <= 0:
                return False

    def receive(self) -> list[Any]:
        """All messages that have arrived; never waits.

        Raises PeerGone when the peer is gone and earlier calls returned everything it had sent.
        """
        more = not self._ended and self._read()
        messages = self._parse()
        while more and not messages:  # one message is longer than what one `_read` takes
            more = self._read()
            messages = self._parse()
        if self._ended and not messages:
            fragment = (
                f", in the middle of a message ({len(self._inbox)} bytes of it came)"
                if self._inbox
                else ""
            )
            raise PeerGone(f"channel: the process at the other end is gone{fragment}")
        return messages

    def _read(self) -> bool:
        """Move what has arrived to the inbox, within bounds. True: there may be more."""
        try:
            for _ in range(_MOST_READS):
                part = self._socket.recv(_READ_BYTES)
                self._inbox += part
                if not part:
                    self._ended = True
                if len(part) < _READ_BYTES:
                    return False
        except BlockingIOError:
            return False
        except ConnectionResetError:  # the peer died before it had read all our messages
            self._ended = True
            return False
        return True

    def _parse(self) -> list[Any]:
        messages, start = [], 0
        with memoryview(self._inbox) as view:
            while len(view) - start >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(view, start)
                if length > _LONGEST_FRAME_BYTES:
                    raise EngineError(
                        f"channel: a frame of {length} bytes; expected at most "
                        f"{_LONGEST_FRAME_BYTES}: the stream is damaged"
                    )
                stop = start + _LENGTH.size + length
                if len(view) < stop:
                    break
                with view[start + _LENGTH.size : stop] as payload:
                    messages.append(self._incoming.decode(payload))
                start = stop
        del self._inbox[:start]
        return messages
