"""Child processes are forked from one that has loaded what all of them need.

To load torch takes seconds of a core, which every process of a run would spend anew, also one that
takes the place of a dead one. The fork server loads it once, and forks the processes of this one.
Each is a child of this process, as if it had been started by it: the server forks it through a
process in between that ends at once, and the kernel gives the orphan to this process. Where that
cannot be done, callers start processes as usual. Needs no torch.
"""

import ctypes
import fcntl
import gc
import json
import os
import runpy
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from pbt.processes.child_process import ChildProcess, Forked
from pbt.processes.tie_to_parent import LEFT_TO_MAIN, leave, settle

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
# The kernel passes no more at once.
_MOST_DESCRIPTORS = 253
_LENGTH = struct.Struct("<q")
# The first answer waits until all is loaded, which takes long on a busy machine.
ANSWER_TIMEOUT_S = 120.0


class ForkServer:
    """The server of this process. Its own process is started with the first child.

    pid  of that process, None before
    """

    def __init__(
        self,
        loads: Sequence[str],
        environment: Mapping[str, str],
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        """loads: modules.

        environment  of the server; each child gets its own
        timeout_s    how long an answer of the server is waited for
        """
        self._timeout_s = timeout_s
        self._loads, self._environment = tuple(loads), dict(environment)
        self._lock = threading.Lock()
        self._process: ChildProcess | None = None
        self._socket: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def fork(
        self,
        program: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        descriptors: Sequence[int],
        streams: tuple[int, int],
    ) -> Forked:
        """Run a module as the program of a new child of this process.

        descriptors  stay open in it, under the same numbers
        streams      its standard output and error
        Raises: OSError when the server cannot be had, or does not answer.
        """
        words = {
            "program": program,
            "arguments": list(arguments),
            "environment": dict(environment),
            "folder": os.getcwd(),
            "cores": sorted(os.sched_getaffinity(0)),
            "descriptors": list(descriptors),
        }
        with self._lock:
            self._start()
            with _adopting():
                return Forked(self._asked(json.dumps(words).encode(), [*streams, *descriptors]))

    def _start(self) -> None:
        if self._process is not None and not self._process.has_ended():
            return
        self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = ChildProcess(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "pbt.processes.fork_server",
                    str(theirs.fileno()),
                    *self._loads,
                ],
                descriptors=[theirs.fileno()],
                environment=self._environment,
                blocked=LEFT_TO_MAIN,
            )
        ours.settimeout(self._timeout_s)
        self._socket = ours

    def _asked(self, request: bytes, descriptors: Sequence[int]) -> int:
        """Send a request; returns the pid of the child. Raises: OSError."""
        assert self._socket is not None
        try:
            socket.send_fds(self._socket, [_LENGTH.pack(len(request))], descriptors)
            self._socket.sendall(request)
            pid = _LENGTH.unpack(_exactly(self._socket, _LENGTH.size))[0]
        except BaseException:
            # The answer to this request must not be taken for that to the next one.
            self.close()
            raise
        if not pid:
            raise OSError("the fork server could not fork")
        return int(pid)

    def close(self) -> None:
        """End the server; its children stay."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process = None


@contextmanager
def _adopting() -> Iterator[None]:
    """Meanwhile orphans among this process's descendants become its children."""
    flag = ctypes.c_int()
    _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(flag))
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        _prctl(_PR_SET_CHILD_SUBREAPER, flag.value)


def _prctl(option: int, value: Any) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _exactly(stream: socket.socket, length: int) -> bytes:
    """So many bytes of the stream. Raises: ConnectionError at its end."""
    parts = list[bytes]()
    while length:
        part = stream.recv(length)
        if not part:
            raise ConnectionError("the other end of the fork server is gone")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


# --- in the server --------------------------------------------------------------------------------


def main(descriptor: int, loads: Sequence[str]) -> None:
    """Fork a process for each request, until the other end is gone."""
    settle(descriptor)
    # Modules stay: looking through them for garbage while they load is a tenth of the time.
    gc.disable()
    for name in loads:
        import_module(name)
    gc.freeze()
    gc.enable()
    stream = socket.socket(fileno=descriptor)
    while True:
        head, descriptors, _, _ = socket.recv_fds(stream, _LENGTH.size, _MOST_DESCRIPTORS)
        if not head:
            return
        request = json.loads(_exactly(stream, _LENGTH.unpack(head)[0]))
        pid = _forked(stream, request, descriptors)
        for one in descriptors:
            os.close(one)
        stream.sendall(_LENGTH.pack(pid))


def _forked(stream: socket.socket, request: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    """The pid of the new process, which is the child of the server's parent by now; 0: none."""
    (held, go), (told, tell) = os.pipe(), os.pipe()
    between = os.fork()
    if between == 0:
        try:
            child = os.fork()
        except OSError:
            os._exit(1)
        if child:
            os.write(tell, _LENGTH.pack(child))
            os._exit(0)
        for one in (go, told, tell):
            os.close(one)
        # The end of its parent would kill a process that has tied its life to it already.
        os.read(held, 1)
        os.close(held)
        stream.close()
        _become(request, descriptors)
    os.close(tell)
    answer = os.read(told, _LENGTH.size)
    os.waitpid(between, 0)
    for one in (held, go, told):
        os.close(one)
    return int(_LENGTH.unpack(answer)[0]) if answer else 0


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Be a process that runs the program of the request, as if it had just been started."""
    code: Any = 1
    try:
        os.setpgid(0, 0)
        _place(descriptors, [1, 2, *request["descriptors"]])
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        os.sched_setaffinity(0, request["cores"])
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:0] = [path for path in paths if path and path not in sys.path]
        if "numpy" in sys.modules:
            # Else all processes would have the same stream.
            sys.modules["numpy"].random.seed()
        sys.argv = [request["program"], *request["arguments"]]
        runpy.run_module(request["program"], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001  it ends here, as a program's own would
        traceback.print_exc()
    leave(code if isinstance(code, int) else int(code is not None))


def _place(descriptors: Sequence[int], numbers: Sequence[int]) -> None:
    """Give open descriptors these numbers; whatever had them is closed."""
    above = max([*descriptors, *numbers]) + 1
    high = [fcntl.fcntl(one, fcntl.F_DUPFD, above) for one in descriptors]
    for one in descriptors:
        os.close(one)
    for one, number in zip(high, numbers, strict=True):
        os.dup2(one, number)
        os.close(one)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
    leave(0)
