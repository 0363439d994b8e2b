"""Anonymous shared memory: regions of memory that processes share by file descriptor.

A region is a memfd. It has no name in the file system, so a killed process leaves nothing behind.
"""

import fcntl
import mmap
import os
import threading
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pbt.errors import EngineError

# Parts of a region start at cache lines: two writers never share one, and every dtype is aligned.
ALIGNMENT_BYTES = 64


def aligned(offset: int) -> int:
    """The first multiple of ALIGNMENT_BYTES that is not below `offset`."""
    return -(-offset // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


_order = threading.Lock()


def fence() -> None:
    """A full memory fence: other processes see no load or store move across this call.

    A load or store may move into one pair of acquire and release from either side, but not through
    two pairs in a row. x86 keeps stores in order anyway; ARM does not.
    """
    for _ in range(2):
        with _order:
            pass


class Region:
    """Memory that other processes attach to by descriptor. Pages cost nothing until first touched.

    fd      the descriptor, close-on-exec here; a child that gets it in `pass_fds` attaches by the
            same number
    size    in bytes; sealed, so that no process can shrink the memory under another one
    buffer  the mapping, zero at birth; it lives as long as any array over it, also after the region
            is closed
    """

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.size = size
        self.buffer = mmap.mmap(fd, size)

    @classmethod
    def create(cls, name: str, size: int) -> Self:
        """A region of zeros. name: shown in /proc/PID/maps.

        Raises EngineError when size is not positive, or when the system gives no memory.
        """
        if size <= 0:
            raise EngineError(
                f"shared memory {name!r}: found a size of {size} bytes; expected at least one"
            )
        try:
            fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            raise EngineError(
                f"shared memory {name!r}: no descriptor ({error.strerror}); raise the limit "
                "of open files"
            ) from error
        try:
            os.ftruncate(fd, size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            return cls(fd, size)
        except OSError as error:
            os.close(fd)
            raise EngineError(
                f"shared memory {name!r}: no {size} bytes ({error.strerror}); use fewer "
                "environments or members"
            ) from error

    @classmethod
    def attach(cls, fd: int, size: int) -> Self:
        """Use the region of descriptor `fd`, and own that descriptor from now on.

        Raises EngineError when there is no such descriptor or the region has another size.
        """
        try:
            actual = os.fstat(fd).st_size
        except OSError as error:
            raise EngineError(
                f"shared memory at descriptor {fd}: {error.strerror}; expected a region of "
                f"{size} bytes"
            ) from error
        if actual != size:
            raise EngineError(
                f"shared memory at descriptor {fd}: found {actual} bytes; expected {size}"
            )
        os.set_inheritable(fd, False)
        return cls(fd, size)

    def array(self, dtype: DTypeLike, shape: int | Sequence[int], offset: int = 0) -> NDArray[Any]:
        """A view of the memory from byte `offset` on. Raises EngineError when it does not fit."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        end = offset + int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if offset < 0 or end > self.size:
            raise EngineError(
                f"bytes {offset} to {end} were asked of shared memory of {self.size} bytes"
            )
        return np.ndarray(shape, dtype, buffer=self.buffer, offset=offset)

    def close(self) -> None:
        """Close the descriptor, so that no other process can attach through this one any more.

        The mapping goes with this object and the last array over it.
        """
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
