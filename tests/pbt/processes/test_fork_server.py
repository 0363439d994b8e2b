"""Children that another process forks are children of this one, and like those that it starts."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pbt.processes.child_process import Forked, kill_group
from pbt.processes.fork_server import ForkServer
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux")

TELL = """
import json, os, random, signal, sys
import numpy
told = {
    "parent": os.getppid(), "group": os.getpgid(0) == os.getpid(), "folder": os.getcwd(),
    "argv": sys.argv[1:], "name": __name__,
    "own": os.environ.get("OWN"), "home": os.environ.get("HOME"),
    "drawn": [random.random(), numpy.random.random()], "cores": sorted(os.sched_getaffinity(0)),
    "open": sorted(int(one) for one in os.listdir("/proc/self/fd")),
}
os.write(int(sys.argv[1]), json.dumps(told).encode())
sys.exit(int(sys.argv[2]))
"""
SLEEP = "import time\ntime.sleep(600)\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """In which the programs of this file are found."""
    (tmp_path / "fork_tell.py").write_text(TELL)
    (tmp_path / "fork_sleep.py").write_text(SLEEP)
    (tmp_path / "fork_wrong.py").write_text("raise ValueError('no good')\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path), "OWN": "value"}


@pytest.fixture
def server() -> Iterator[ForkServer]:
    one = ForkServer(["numpy"], os.environ)
    yield one
    one.close()


def told(
    server: ForkServer, environment: dict[str, str], code: int = 0
) -> tuple[Forked, dict[str, Any]]:
    """A child that exits with the code, and what it said of itself."""
    reader, writer = os.pipe()
    child = server.fork("fork_tell", [str(writer), str(code)], environment, [writer], (1, 2))
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        return child, {**json.loads(stream.read()), "writer": writer}


def test_it_is_as_if_this_process_had_started_it(
    server: ForkServer, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cores = sorted(os.sched_getaffinity(0))
    del environment["HOME"]
    child, said = told(server, environment, 3)
    assert child.wait(20.0) == 3 == child.poll()
    assert said["parent"] == os.getpid() and said["group"] and said["name"] == "__main__"
    assert (said["own"], said["home"], said["folder"]) == ("value", None, str(tmp_path))
    assert said["argv"] == [str(said["writer"]), "3"] and said["cores"] == cores
    # Nothing of the server is open in it; one is that of the folder it read.
    assert len(set(said["open"]) - {0, 1, 2, said["writer"]}) == 1


def test_two_of_them_draw_different_numbers(
    server: ForkServer, environment: dict[str, str]
) -> None:
    (one, first), (other, second) = (told(server, environment) for _ in range(2))
    assert one.wait(20.0) == other.wait(20.0) == 0 and one.pid != other.pid
    assert all(x != y for x, y in zip(first["drawn"], second["drawn"], strict=True))


def test_its_end_is_told(server: ForkServer, environment: dict[str, str]) -> None:
    child = server.fork("fork_sleep", [], environment, [], (1, 2))
    assert child.poll() is None and child.returncode is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.05)
    kill_group(child.pid)
    assert child.wait(20.0) == -signal.SIGKILL
    child.terminate()
    wrong = server.fork("fork_wrong", [], environment, [], (1, 2))
    assert wrong.wait(20.0) == 1
    missing = server.fork("no_such_module", [], environment, [], (1, 2))
    assert missing.wait(20.0) == 1


def test_it_can_be_killed_as_a_group_as_soon_as_it_is_known(
    server: ForkServer, environment: dict[str, str]
) -> None:
    for _ in range(20):
        child = server.fork("fork_sleep", [], environment, [], (1, 2))
        kill_group(child.pid)
        assert child.wait(20.0) == -signal.SIGKILL


def test_a_server_that_dies_at_a_request_leaves_no_child_that_runs(
    environment: dict[str, str],
) -> None:
    """The caller starts a process of its own then, and both would have the same channel."""
    server = ForkServer([], os.environ, timeout_s=5.0)
    failed, ours = 0, psutil.Process()
    for number in range(24):
        child, _ = told(server, environment)
        assert child.wait(20.0) == 0 and server.pid is not None
        killer = threading.Timer(0.0005 * (number % 8), os.kill, (server.pid, signal.SIGKILL))
        killer.start()
        try:
            child = server.fork("fork_sleep", [], environment, [], (1, 2))
            # It may have been let go or not, but it is known, and can be ended.
            kill_group(child.pid)
            assert child.wait(20.0) in (0, -signal.SIGKILL)
        except OSError:
            failed += 1
        killer.join()
        server.close()
    assert failed > 3, "the test is to meet the server at a request"
    until_s = time.monotonic() + 20.0
    while any(one.name() == "fork_sleep" for one in ours.children(recursive=True)):
        assert time.monotonic() < until_s
        time.sleep(0.01)


def test_two_servers_in_two_threads_give_this_process_its_own_children(
    environment: dict[str, str],
) -> None:
    found = list[int]()

    def work() -> None:
        server = ForkServer([], os.environ)
        for _ in range(20):
            child, said = told(server, environment)
            found.append(said["parent"])
            assert child.wait(20.0) == 0
        server.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [os.getpid()] * 40


def test_a_server_that_cannot_load_is_given_up(environment: dict[str, str]) -> None:
    server = ForkServer(["no_such_module"], os.environ)
    for words in ("is gone", "is gone", "failed 2 times"):
        with pytest.raises(OSError, match=words):
            server.fork("fork_tell", ["1", "0"], environment, [], (1, 2))


def test_more_descriptors_than_can_be_passed_are_refused_and_the_server_lives(
    server: ForkServer, environment: dict[str, str]
) -> None:
    child, _ = told(server, environment)
    before = server.pid
    with pytest.raises(OSError, match="300 descriptors"):
        server.fork("fork_tell", ["1", "0"], environment, [1] * 300, (1, 2))
    assert child.wait(20.0) == 0 and server.pid == before
    child, _ = told(server, environment)
    assert child.wait(20.0) == 0 and server.pid == before


def test_a_killed_server_is_started_again_and_its_children_live(
    server: ForkServer, environment: dict[str, str]
) -> None:
    first = server.fork("fork_sleep", [], environment, [], (1, 2))
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(server.pid)], timeout=0.5)
    second, said = told(server, environment)
    assert second.wait(20.0) == 0 and said["parent"] == os.getpid()
    assert first.poll() is None
    kill_group(first.pid)
    assert first.wait(20.0) == -signal.SIGKILL


def test_a_server_that_does_not_answer_is_given_up_and_one_takes_its_place(
    environment: dict[str, str],
) -> None:
    server = ForkServer([], os.environ, timeout_s=5.0)
    child, _ = told(server, environment)
    assert child.wait(20.0) == 0 and server.pid is not None
    os.kill(stopped := server.pid, signal.SIGSTOP)
    with pytest.raises(OSError, match="timed out"):
        server.fork("fork_tell", ["1", "0"], environment, [], (1, 2))
    assert not psutil.pid_exists(stopped)
    child, _ = told(server, environment)
    assert child.wait(20.0) == 0
    server.close()


def test_a_fork_of_this_process_has_a_server_of_its_own(
    server: ForkServer, environment: dict[str, str]
) -> None:
    """As in a host program that uses `multiprocessing`."""
    first, _ = told(server, environment)
    assert first.wait(20.0) == 0
    ours = server.pid
    reader, writer = os.pipe()
    fork = os.fork()
    if fork == 0:
        try:
            child, said = told(server, environment)
            fine = child.wait(20.0) == 0 and said["parent"] == os.getpid() and server.pid != ours
            server.close()
            os.write(writer, b"fine" if fine else b"wrong")
        finally:
            os._exit(0)
    os.close(writer)
    assert os.waitpid(fork, 0)[1] == 0
    with os.fdopen(reader, "rb") as stream:
        assert stream.read() == b"fine"
    second, said = told(server, environment)
    assert second.wait(20.0) == 0 and server.pid == ours and said["parent"] == os.getpid()


def test_it_ends_with_its_process(environment: dict[str, str]) -> None:
    program = (
        "import os, time\n"
        "from pbt.processes.fork_server import ForkServer\n"
        "server = ForkServer([], os.environ)\n"
        "child = server.fork('fork_sleep', [], dict(os.environ), [], (1, 2))\n"
        "print(server.pid, child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    paths = os.pathsep.join([str(REPOSITORY), environment["PYTHONPATH"]])
    main = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env={**environment, "PYTHONPATH": paths},
    )
    with main:
        assert main.stdout is not None
        server, child = map(int, main.stdout.readline().split())
        main.kill()
    until_s = time.monotonic() + 20.0
    while psutil.pid_exists(server):
        assert time.monotonic() < until_s
        time.sleep(0.01)
    # This program does not tie its life to its parent's, which a child of a run does first.
    assert psutil.pid_exists(child)
    kill_group(child)
