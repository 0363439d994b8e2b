"""A fifo is a queue of small byte strings from many writer processes to one reader.

There are two kinds with one contract:

faster_fifo  a ring in shared memory; no system call while it is neither empty nor full
sockets      made of the standard library only

A process that is killed while it writes may leave a faster_fifo locked for ever. Only processes
that die together may share one, and it does not notice a death; `pbt.transport.channel` does.
"""

import ctypes
import select
import socket
from collections.abc import Mapping
from queue import Empty, Full
from typing import Any, Literal, Protocol, cast

from pbt.errors import EngineError
from pbt.processes.watched_time import WatchedTime
from pbt.transport.memory import ALIGNMENT_BYTES, Region, aligned

FifoKind = Literal["faster_fifo", "sockets"]

# The largest message of either kind.
LARGEST_MESSAGE_BYTES = 65536

# faster_fifo puts its own length in front of every message.
_LENGTH_BYTES = 8

# faster_fifo wakes one writer per read, however much room became free, so the other writers that
# wait look again this often.
_PUT_SLICE_S = 0.01

# Most messages that one `get_many` takes from a socket, so that busy writers cannot hold its reader
# there.
_MOST_READS = 1024


class FifoFull(EngineError):
    """There was no room for a message in time: the reader is busy, or gone."""


class Fifo(Protocol):
    """Any process may write and one reads. Messages of one writer arrive whole, in its order."""

    def put(self, message: bytes, timeout_s: float) -> None:
        """Raises FifoFull after `timeout_s` without room, EngineError for an empty or a too large
        message.
        """
        ...

    def get_many(self, timeout_s: float) -> list[bytes]:
        """All messages that have arrived. Waits up to `timeout_s` for the first one."""
        ...

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What to name in `pass_fds` of the processes that attach."""
        ...

    def handle(self) -> dict[str, Any]:
        """What `attach_fifo` needs in another process; it can be written as JSON."""
        ...

    def close(self) -> None:
        """Close the descriptors here; other processes keep theirs."""
        ...


def fifo_kinds() -> tuple[FifoKind, ...]:
    """The kinds that work on this machine, the faster one first."""
    try:
        _faster_fifo()
    except ImportError:
        return ("sockets",)
    return ("faster_fifo", "sockets")


def make_fifo(kind: str, size_bytes: int) -> Fifo:
    """An empty fifo. size_bytes: about how much may wait in it, at least one largest message."""
    least = LARGEST_MESSAGE_BYTES + _LENGTH_BYTES
    if size_bytes < least:
        raise EngineError(
            f"a fifo of {size_bytes} bytes; expected at least {least}, which is its largest message"
        )
    if kind not in fifo_kinds():
        raise EngineError(
            f"no fifos of kind {kind!r} here; expected one of {', '.join(fifo_kinds())}"
        )
    if kind == "sockets":
        return SocketFifo(*_socket_pair(size_bytes))
    return FasterFifo.create(size_bytes)


def attach_fifo(handle: Mapping[str, Any]) -> Fifo:
    """The fifo of a `handle()`, in a process that was started with its descriptors.

    The fifo owns the descriptors from now on.
    """
    if handle["kind"] == "sockets":
        return SocketFifo(
            *(
                socket.socket(fileno=descriptor)
                for descriptor in (handle["writer"], handle["reader"])
            )
        )
    return FasterFifo(Region.attach(handle["descriptor"], handle["bytes"]), handle["size_bytes"])


def _check(message: bytes) -> None:
    if not 0 < len(message) <= LARGEST_MESSAGE_BYTES:
        raise EngineError(
            f"a message of {len(message)} bytes; expected 1 to {LARGEST_MESSAGE_BYTES}: send "
            "it in parts"
        )


def _full(message: bytes, timeout_s: float) -> FifoFull:
    return FifoFull(
        f"no room for a message of {len(message)} bytes within {timeout_s:g} s; its reader "
        "is busy or gone"
    )


class FasterFifo:
    """A faster_fifo.Queue whose lock and ring stand in a region.

    So processes that were not forked from its maker can use it. The region holds the queue object
    (process-shared mutex, conditions and positions), then the ring.
    """

    def __init__(self, region: Region, size_bytes: int) -> None:
        queue = _new_queue(1)
        object_bytes = ctypes.sizeof(queue.queue_obj_buffer)
        queue.queue_obj_buffer = (ctypes.c_ubyte * object_bytes).from_buffer(region.buffer, 0)
        queue.shared_memory = (ctypes.c_ubyte * size_bytes).from_buffer(
            region.buffer, aligned(object_bytes)
        )
        queue.max_size_bytes = queue.max_bytes_to_read = size_bytes
        self._queue, self._region, self._size_bytes = queue, region, size_bytes
        self._reads = False

    @classmethod
    def create(cls, size_bytes: int) -> "FasterFifo":
        # A mutex that was never locked is plain data, so a queue that was never used may be copied.
        fresh = bytes(_new_queue(size_bytes).queue_obj_buffer)
        region = Region.create("fifo", aligned(len(fresh)) + size_bytes + ALIGNMENT_BYTES)
        region.buffer[: len(fresh)] = fresh
        return cls(region, size_bytes)

    def put(self, message: bytes, timeout_s: float) -> None:
        _check(message)
        watched = WatchedTime()
        while True:
            slice_s = min(watched.slice_s(timeout_s), _PUT_SLICE_S)
            try:
                self._queue.put(message, block=slice_s > 0, timeout=slice_s)
                return
            except Full:
                if slice_s <= 0:
                    raise _full(message, timeout_s) from None

    def get_many(self, timeout_s: float) -> list[bytes]:
        if not self._reads:  # only the process that reads needs a buffer for a full ring
            self._queue.reallocate_msg_buffer(self._size_bytes)
            self._reads = True
        try:
            return cast(
                "list[bytes]",
                self._queue.get_many(block=timeout_s > 0, timeout=max(timeout_s, 0.0)),
            )
        except Empty:
            return []

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (self._region.fd,)

    def handle(self) -> dict[str, Any]:
        return {
            "kind": "faster_fifo",
            "descriptor": self._region.fd,
            "bytes": self._region.size,
            "size_bytes": self._size_bytes,
        }

    def close(self) -> None:
        self._region.close()


def _faster_fifo() -> Any:
    """The package. Raises ImportError on machines without it."""
    import faster_fifo  # type: ignore[import-not-found]

    return faster_fifo


def _new_queue(size_bytes: int) -> Any:
    # `loads` must copy: it gets a view of a buffer that the next read overwrites.
    return _faster_fifo().Queue(size_bytes, loads=bytes, dumps=bytes)


def _socket_pair(size_bytes: int) -> tuple[socket.socket, socket.socket]:
    writer, reader = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # The system doubles the size for its own bookkeeping. It may allow less (net.core.wmem_max);
    # then writers wait earlier.
    writer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size_bytes)
    return writer, reader


class SocketFifo:
    """A pair of sockets that keep messages apart.

    Every process holds both ends, so the reader never sees an end of the stream.
    """

    def __init__(self, writer: socket.socket, reader: socket.socket) -> None:
        self._writer, self._reader = writer, reader
        for end in (writer, reader):
            end.set_inheritable(False)
            end.setblocking(False)
        self._room, self._arrival = select.poll(), select.poll()
        self._room.register(writer, select.POLLOUT)
        self._arrival.register(reader, select.POLLIN)

    def put(self, message: bytes, timeout_s: float) -> None:
        _check(message)
        watched = WatchedTime()
        while True:
            slice_s = watched.slice_s(timeout_s)
            try:
                self._writer.send(message)
                return
            except BlockingIOError:
                if slice_s <= 0:
                    raise _full(message, timeout_s) from None
            self._room.poll(slice_s * 1000)

    def get_many(self, timeout_s: float) -> list[bytes]:
        messages = self._arrived()
        if not messages and timeout_s > 0 and self._arrival.poll(timeout_s * 1000):
            messages = self._arrived()
        return messages

    def _arrived(self) -> list[bytes]:
        messages: list[bytes] = []
        try:
            while len(messages) < _MOST_READS:
                messages.append(self._reader.recv(LARGEST_MESSAGE_BYTES))
        except BlockingIOError:
            return messages
        return messages

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (self._writer.fileno(), self._reader.fileno())

    def handle(self) -> dict[str, Any]:
        return {"kind": "sockets", "writer": self._writer.fileno(), "reader": self._reader.fileno()}

    def close(self) -> None:
        self._writer.close()
        self._reader.close()
