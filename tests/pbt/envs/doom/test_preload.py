"""The library in the engines of matches, by itself, with packets that matches seldom have."""

import subprocess
import sys

import pytest

from pbt.native import doom_preload

# An engine with one peer, which has sent its commands of tic 0.
ENGINE = f"""
import ctypes, socket
library = ctypes.CDLL({str(doom_preload())!r}, use_errno=True)
engine, peer = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) for _ in range(2))
for one in (engine, peer):
    one.bind(("127.0.0.1", 0))
address = (2).to_bytes(2, "little") + peer.getsockname()[1].to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
def send(packet):
    return library.sendto(engine.fileno(), packet, len(packet), 0, address, 16)
def receive():
    buffer, sender, length = ctypes.create_string_buffer(14_000), ctypes.create_string_buffer(16), ctypes.c_int(16)
    size = library.recvfrom(engine.fileno(), buffer, 14_000, 0, sender, ctypes.byref(length))
    return buffer.raw[:size] if size >= 0 else None
def compress(size):
    return library.compress2(ctypes.create_string_buffer(size), ctypes.byref(ctypes.c_ulong(size)), bytes(size), ctypes.c_ulong(size), 9)
send(bytes([1, 0]))
"""  # noqa: E501


def run(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", ENGINE + code],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_a_large_packet_of_a_tic_that_is_not_due_is_kept_whole() -> None:
    code = """
large = bytes([1, 1]) + bytes(range(256)) * 54
assert len(large) > 13_800
peer.sendto(large, engine.getsockname())
assert [receive(), receive()] == [None, None], "the first call after sending asks for nothing; then tic 1 has not come"
send(bytes([1, 1]))
assert receive() is None
assert receive() == large
"""  # noqa: E501
    assert (found := run(code)).returncode == 0, found.stderr


def test_in_a_running_game_nothing_is_compressed() -> None:
    """Z_BUF_ERROR, at which the engine sends the packet as it is."""
    assert (
        found := run("assert [compress(size) for size in (10, 256, 14_000)] == [-5] * 3")
    ).returncode == 0, found.stderr


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("send(bytes([0x05, 1, 9, 9]))", "about to be sent compressed"),
        (
            "peer.sendto(bytes([0x05, 1, 9, 9]), engine.getsockname()); receive(); receive()",
            "came compressed",
        ),
        (
            "peer.sendto(bytes(14_001), engine.getsockname()); receive(); receive()",
            "larger than the engine's largest",
        ),
    ],
)
def test_what_cannot_be_understood_ends_the_engine_with_a_word(code: str, words: str) -> None:
    found = run(f"{code}\nprint('went on')")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("doom_preload: ") and words in found.stderr
