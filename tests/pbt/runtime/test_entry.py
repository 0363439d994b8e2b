"""The beginning of a process whose parent is gone by then."""

import socket
import subprocess
import sys

import pytest


@pytest.mark.parametrize("sent", [b"", b"an assignment"])
def test_a_process_ends_at_once_when_its_parent_died_before_its_first_word(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(sent)
    ours.close()
    command = [sys.executable, "-P", "-m", "pbt.runtime.entry", str(theirs.fileno())]
    ended = subprocess.run(
        command,
        pass_fds=(theirs.fileno(),),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    theirs.close()
    assert (ended.returncode, ended.stderr) == (0, "")
