"""The programs of the other processes in these tests; `start` runs one of them.

They talk to the test by lines of text and by what they share.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[3]


class Note(NamedTuple):
    """A message of these tests."""

    number: int
    text: str = ""
    content: bytes = b""


class Order(NamedTuple):
    """Another one."""

    count: int


@contextlib.contextmanager
def start(
    program: str, descriptors: Sequence[int], **facts: Any
) -> Iterator[subprocess.Popen[str]]:
    """The program in a process of its own, with these descriptors; killed in the end."""
    command = [sys.executable, "-m", "tests.pbt.transport.programs", program, json.dumps(facts)]
    with subprocess.Popen(
        command,
        cwd=REPOSITORY,
        pass_fds=descriptors,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def say(text: str) -> None:
    print(text, flush=True)


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], text: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


def message(writer: int, number: int) -> bytes:
    """A message of 8 to 65536 bytes that names its writer; all bytes follow from the arguments."""
    size = (8, 300, 4096, 65536, 64)[(writer + number) % 5] if number % 7 else 8
    return (
        writer.to_bytes(4, "little")
        + number.to_bytes(4, "little")
        + bytes([(writer * 31 + number) % 251]) * (size - 8)
    )


def example_weights(publication: int) -> dict[str, Any]:
    """Tensors of several shapes and dtypes that all hold the publication's number."""
    import torch

    shapes = {
        "model.a": (300, 70),
        "model.b": (7,),
        "model.norm": (),
        "adam.a": (300, 70),
        "adam.step": (),
        "clocks": (4,),
    }
    kinds = {"model.norm": torch.float64, "clocks": torch.int64}
    return {
        name: torch.full(shape, publication, dtype=kinds.get(name, torch.float32))
        for name, shape in shapes.items()
    }


def share_memory(fd: int, size: int) -> None:
    from pbt.transport.memory import Region

    numbers = Region.attach(fd, size).array("int64", 4, 64)
    numbers += 1
    say("done")
    sys.stdin.readline()


def publish_forever(fd: int, size: int) -> None:
    """For each line a process that publishes until it is killed: "ready" when it begins to, and how
    it ended. They are forked, because torch takes longer to load than a writer lives.
    """
    from pbt.transport.memory import Region
    from pbt.transport.weights import PublishedWeights

    region, parent = Region.attach(fd, size), os.getpid()
    while sys.stdin.readline():
        if writer := os.fork():
            say(str(writer))
            say(str(os.waitpid(writer, 0)[1]))
            continue
        published = PublishedWeights(example_weights(0), region, owner=False)
        for publication in count(published.publications + 1):
            published.publish(example_weights(publication), 10 * publication)
            if os.getppid() != parent:
                os._exit(0)  # the test itself was killed


def write_fifo(handle: dict[str, Any], writer: int, messages: int) -> None:
    from pbt.transport.fifo import attach_fifo

    fifo = attach_fifo(handle)
    say("ready")
    sys.stdin.readline()
    for number in range(messages):
        fifo.put(message(writer, number), 60.0)
    say("done")


def echo(fd: int) -> None:
    """Sends every Note back, and `count` notes for an Order; ends when the main process is gone."""
    import socket

    from pbt.transport.channel import Channel, PeerGone
    from pbt.transport.wire import Wire

    wire = Wire((Note, Order))
    channel = Channel(socket.socket(fileno=fd), wire, wire)
    with contextlib.suppress(PeerGone):
        while channel.wait(60.0):
            for received in channel.receive():
                if isinstance(received, Note):
                    channel.send(received)
                else:
                    for number in range(received.count):
                        channel.send(Note(number, "own", b"x" * (number % 5000)))
    say("alone")


def deaf(fd: int) -> None:
    """Receives nothing until it is told to; then says how many bytes came before the end."""
    import socket

    sock = socket.socket(fileno=fd)
    say("ready")
    sys.stdin.readline()
    total = 0
    while part := sock.recv(1 << 20):
        total += len(part)
    say(str(total))


def leave_a_grandchild(fd: int) -> None:
    """Starts a process that inherits what may be inherited, says its id, and ends."""
    import socket

    from pbt.transport.channel import Channel
    from pbt.transport.wire import Wire

    wire = Wire((Note,))
    channel = Channel(socket.socket(fileno=fd), wire, wire)
    grandchild = subprocess.Popen(["/bin/sh", "-c", "read line"], close_fds=False)
    channel.send(Note(grandchild.pid))
    sys.stdout.flush()
    # No farewell to the grandchild: it lives on, waiting for its standard input.
    import os

    os._exit(0)


def stay_in_a_game(fd: int, size: int, processes: int, process: int) -> None:
    from pbt.transport.memory import Region
    from pbt.transport.process_board import ProcessBoard

    row = ProcessBoard(processes, Region.attach(fd, size)).row(process)
    row.add("trained", 12)
    row.add("simulate_s", 0.5)
    row.add("simulate_s", 0.25)
    row.enter("game", 5)
    say("ready")
    sys.stdin.readline()
    for number in count():
        row.enter("game" if number % 2 else "waiting", number % 2)


PROGRAMS = {
    function.__name__: function
    for function in (
        share_memory,
        publish_forever,
        write_fifo,
        echo,
        deaf,
        leave_a_grandchild,
        stay_in_a_game,
    )
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](**json.loads(sys.argv[2]))
