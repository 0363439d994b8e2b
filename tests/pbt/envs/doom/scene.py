"""What tests of Doom games share."""

import struct
import time
from contextlib import suppress
from pathlib import Path

import psutil

from pbt.envs.contract import SeatTurn
from pbt.envs.doom.game import DoomGame
from pbt.envs.doom.scene import known
from pbt.envs.doom.wad import _entries


def engines(of: int) -> list[psutil.Process]:
    """Engine processes of a process; one that just ended is none."""
    found = []
    for child in psutil.Process(of).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any("+viz_instance_id" in word for word in child.cmdline()):
                found.append(child)
    return found


def until(condition: object, timeout_s: float = 10.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wad_of(path: Path, lumps: list[tuple[str, bytes]]) -> Path:
    """A WAD of these, directory last, as most programs write it."""
    body, entries = b"", b""
    for name, content in lumps:
        entries += struct.pack("<ii8s", 12 + len(body), len(content), name.encode())
        body += content
    path.write_bytes(struct.pack("<4sii", b"PWAD", len(lumps), 12 + len(body)) + body + entries)
    return path


def ending_wad(path: Path, scenario: str, tics: int) -> Path:
    """A scenario's WAD whose map ends by itself after a number of tics.

    A script ends it, as compilers make it (zdoom.org/wiki: ACS0 object format).
    """
    delay, call, exit_normal, terminate = 56, 9, 243, 1
    code = struct.pack("<6i", delay, tics, call, exit_normal, 0, terminate)
    # One script of the kind that runs when the map opens, without arguments or texts.
    behavior = (
        struct.pack("<4si", b"ACS\0", 8 + len(code)) + code + struct.pack("<5i", 1, 1001, 8, 0, 0)
    )
    with (known().scenarios / f"{scenario}.wad").open("rb") as file:
        lumps = []
        for position, size, name in _entries(file):
            file.seek(position)
            lumps.append((name.decode(), behavior if name == b"BEHAVIOR" else file.read(size)))
    return wad_of(path, lumps)


def play(game: DoomGame, seed: int, action: tuple[int, ...]) -> list[SeatTurn]:
    turns = game.reset(seed)
    while not turns[-1].over:
        turns += game.step({0: action})
    return turns
