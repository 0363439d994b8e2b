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
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

from pbt.processes.child_process import ChildProcess, Forked, kill_group
from pbt.processes.tie_to_parent import LEFT_TO_MAIN, leave, settle

_PR_SET_NAME, _PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 15, 36, 37
# The kernel passes no more at once.
_MOST_DESCRIPTORS = 253
_LENGTH = struct.Struct("<q")
# A server says this when it has loaded all, and main that it has taken over a child.
_READY, _TAKEN = 0, 1
# To load torch takes long on a busy machine; to fork takes milliseconds.
LOAD_TIMEOUT_S, ANSWER_TIMEOUT_S = 60.0, 10.0
# A server that fails so often in a row is not started again.
_MOST_FAILURES = 2
# Orphans among all descendants of this process become its children, also those of other servers.
_ADOPTION = threading.Lock()


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
        self._loads, self._environment, self._timeout_s = tuple(loads), dict(environment), timeout_s
        self._forget()
        # A fork of this process has a server of its own: this one is not its child.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock, self._failures = threading.Lock(), 0
        # Kept: a process that is collected is looked after.
        self._not_ours = getattr(self, "_running", None)
        self._running: tuple[ChildProcess, socket.socket] | None = None

    @property
    def pid(self) -> int | None:
        return None if self._running is None else self._running[0].pid

    def fork(
        self,
        program: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        descriptors: Sequence[int],
        streams: tuple[int, int],
    ) -> Forked:
        """Run a module as the program of a new child of this process.

        The first call waits until the server has loaded its modules.

        descriptors  stay open in it, under the same numbers
        streams      its standard output and error
        Raises: OSError when the server cannot be had, or does not answer.
        """
        if len(descriptors) + len(streams) > _MOST_DESCRIPTORS:
            raise OSError(f"{len(descriptors)} descriptors; the kernel passes fewer at once")
        words = {
            "program": program,
            "arguments": list(arguments),
            "environment": dict(environment),
            "folder": os.getcwd(),
            "cores": sorted(os.sched_getaffinity(0)),
            "descriptors": list(descriptors),
        }
        with self._lock:
            try:
                stream = self._started()
                pid = _child(stream, json.dumps(words).encode(), [*streams, *descriptors])
            except BaseException:
                # The answer to this request must not be taken for that to the next one.
                self._failures += 1
                self._end()
                raise
            self._failures = 0
        return Forked(pid)

    def _started(self) -> socket.socket:
        """The way to a server that has loaded its modules. Raises: OSError."""
        if self._running is not None and not self._running[0].has_ended():
            return self._running[1]
        self._end()
        if self._failures >= _MOST_FAILURES:
            raise OSError(f"the fork server failed {self._failures} times")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            process = ChildProcess(
                [
                    *(sys.executable, "-P", "-m", "pbt.processes.fork_server"),
                    *(str(theirs.fileno()), *self._loads),
                ],
                descriptors=[theirs.fileno()],
                environment=self._environment,
                blocked=LEFT_TO_MAIN,
            )
        self._running = process, ours
        ours.settimeout(LOAD_TIMEOUT_S)
        _number(ours)
        ours.settimeout(self._timeout_s)
        return ours

    def close(self) -> None:
        """End the server; its children stay."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running[1].close()
            running[0].kill()


def _child(stream: socket.socket, request: bytes, descriptors: Sequence[int]) -> int:
    """The pid of the child that the server makes of a request. Raises: OSError.

    It runs nothing before this process has it: else one might run whose pid was lost.
    """
    with _ADOPTION, _adopting():
        socket.send_fds(stream, [_LENGTH.pack(len(request))], descriptors)
        stream.sendall(request)
        pid = _number(stream)
        if not pid:
            raise OSError("the fork server could not fork")
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # raises for a stranger
    try:
        stream.sendall(_LENGTH.pack(_TAKEN))
        _number(stream)  # by now it runs, whatever becomes of the server
    except OSError:
        kill_group(pid)
        os.waitpid(pid, 0)
        raise
    return pid


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


def _number(stream: socket.socket) -> int:
    """The next number of the stream. Raises: ConnectionError at its end."""
    return int(_LENGTH.unpack(_exactly(stream, _LENGTH.size))[0])


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
    stream.sendall(_LENGTH.pack(_READY))
    while True:
        head, descriptors, _, _ = socket.recv_fds(stream, _LENGTH.size, _MOST_DESCRIPTORS)
        if not head:
            return
        request = json.loads(_exactly(stream, _LENGTH.unpack(head)[0]))
        _fork_one(stream, request, descriptors)
        for one in descriptors:
            os.close(one)


def _fork_one(
    stream: socket.socket, request: Mapping[str, Any], descriptors: Sequence[int]
) -> None:
    """Fork a process, tell its pid, and let it run once the other end has taken it.

    Its parent is the other end's process by then, or the first of all where that one is gone.
    """
    held, go = os.pipe()
    told, tell = os.pipe()
    between = os.fork()
    if between == 0:
        _fork_child(stream, request, descriptors, (held, go, told, tell))
    os.close(tell)
    os.close(held)
    answer = os.read(told, _LENGTH.size)
    os.close(told)
    os.waitpid(between, 0)
    stream.sendall(answer or _LENGTH.pack(0))
    if answer:
        _number(stream)
        with suppress(BrokenPipeError):
            os.write(go, b"1")
        stream.sendall(_LENGTH.pack(_TAKEN))
    os.close(go)


def _fork_child(
    stream: socket.socket,
    request: Mapping[str, Any],
    descriptors: Sequence[int],
    pipes: tuple[int, int, int, int],
) -> NoReturn:
    """In the process in between: fork the child and end."""
    held, go, told, tell = pipes
    try:
        child = os.fork()
    except OSError:
        os._exit(1)
    if child:
        # By the time that its pid is known it leads a group, which may be killed.
        os.setpgid(child, child)
        os.write(tell, _LENGTH.pack(child))
        os._exit(0)
    for one in (go, told, tell):
        os.close(one)
    if not os.read(held, 1):
        os._exit(0)
    os.close(held)
    stream.close()
    _become(request, descriptors)


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Be a process that runs the program of the request, as if it had just been started."""
    code: Any = 1
    try:
        _prctl(_PR_SET_NAME, request["program"].rpartition(".")[2].encode())
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
