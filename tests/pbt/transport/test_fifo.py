"""The contract of both kinds of fifos: many writers, one reader, in processes that were not
forked from each other.
"""

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from pbt.errors import EngineError
from pbt.transport.fifo import (
    LARGEST_MESSAGE_BYTES,
    Fifo,
    FifoFull,
    SocketFifo,
    attach_fifo,
    fifo_kinds,
    make_fifo,
)
from tests.pbt.transport.programs import heard, message, start, tell

SIZE = 256 * 1024


@pytest.fixture(params=fifo_kinds())
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fifo(kind: str) -> Iterator[Fifo]:
    made = make_fifo(kind, SIZE)
    yield made
    made.close()


def fill(fifo: Fifo, size: int) -> int:
    """Put numbered messages of this size until no more fit; returns how many did."""
    for number in range(10**6):
        try:
            fifo.put(number.to_bytes(4, "little") + bytes(size - 4), 0.0)
        except FifoFull:
            return number
    raise AssertionError("never full")


def read_all(
    fifo: Fifo, writers: int, messages: int, first: Sequence[bytes] = ()
) -> dict[int, list[int]]:
    """Numbers of the messages by writer, in order of arrival, `first` included.

    Every message is checked to be whole.
    """
    got = list(first)
    while len(got) < writers * messages:
        more = fifo.get_many(60.0)
        assert more, f"{len(got)} of {writers * messages} came"
        got += more
    numbers: dict[int, list[int]] = {writer: [] for writer in range(writers)}
    for one in got:
        writer, number = (int.from_bytes(one[i : i + 4], "little") for i in (0, 4))
        assert one == message(writer, number)
        numbers[writer].append(number)
    return numbers


def test_many_writers_one_reader_nothing_lost_mixed_or_out_of_order(fifo: Fifo) -> None:
    writers, messages = 3, 600
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                start(
                    "write_fifo",
                    fifo.descriptors,
                    handle=fifo.handle(),
                    writer=writer,
                    messages=messages,
                )
            )
            for writer in range(writers)
        ]
        assert {heard(process) for process in processes} == {"ready"}
        for process in processes:
            tell(process)
        numbers = read_all(fifo, writers, messages)
        assert numbers == {writer: list(range(messages)) for writer in range(writers)}
        assert {heard(process) for process in processes} == {"done"}
    assert fifo.get_many(0.0) == []


def test_a_writer_that_found_no_room_goes_on_when_there_is_some(fifo: Fifo) -> None:
    large, small = fill(fifo, 4096), fill(fifo, 8)
    with start(
        "write_fifo", fifo.descriptors, handle=fifo.handle(), writer=0, messages=50
    ) as process:
        assert heard(process) == "ready"
        tell(process)
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 0.2)[0] == []
        # What the writer adds while this is read may come with it.
        got = fifo.get_many(60.0)
        assert [int.from_bytes(one[:4], "little") for one in got[: large + small]] == [
            *range(large),
            *range(small),
        ]
        assert read_all(fifo, 1, 50, got[large + small :]) == {0: list(range(50))}
        assert heard(process) == "done"


def test_a_reader_that_waits_is_woken(fifo: Fifo) -> None:
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.extend(fifo.get_many(60.0)))
    reader.start()
    fifo.put(b"first", 1.0)
    reader.join(60)
    assert got == [b"first"]


def test_everything_that_waits_comes_at_once_in_order(fifo: Fifo) -> None:
    for count in (1, 7, 100):
        sent = [bytes([number]) * (number * 10 + 1) for number in range(count)]
        for one in sent:
            fifo.put(one, 1.0)
        got = fifo.get_many(1.0)
        assert got == sent
        assert all(type(one) is bytes for one in got)
        assert fifo.get_many(0.0) == []
    # What was read stays what it was, whatever is read later.
    fifo.put(b"later" * 100, 1.0)
    fifo.get_many(1.0)
    assert got == sent


def test_an_empty_fifo_waits_as_long_as_it_was_told(fifo: Fifo) -> None:
    for timeout_s in (0.0, 0.001, 0.1):
        started = time.monotonic()
        assert fifo.get_many(timeout_s) == []
        assert timeout_s * 0.9 <= time.monotonic() - started < timeout_s + 5.0


def test_a_full_fifo_waits_as_long_as_it_was_told_and_loses_nothing(fifo: Fifo) -> None:
    filled = fill(fifo, 2000)
    assert filled * 2000 > SIZE / 4
    for timeout_s in (0.0, 0.1):
        started = time.monotonic()
        with pytest.raises(FifoFull, match=r"no room for a message of 2000 bytes within"):
            fifo.put(bytes(2000), timeout_s)
        assert timeout_s * 0.9 <= time.monotonic() - started < timeout_s + 5.0
    assert [int.from_bytes(one[:4], "little") for one in fifo.get_many(1.0)] == list(range(filled))
    fifo.put(b"again", 1.0)
    assert fifo.get_many(1.0) == [b"again"]


def test_messages_have_bounds(fifo: Fifo) -> None:
    largest = os.urandom(LARGEST_MESSAGE_BYTES)
    for one in (b"\x00", largest):
        fifo.put(one, 1.0)
        assert fifo.get_many(1.0) == [one]
    for wrong in (b"", largest + b"x"):
        with pytest.raises(
            EngineError, match=f"a message of {len(wrong)} bytes; expected 1 to 65536"
        ):
            fifo.put(wrong, 1.0)
    assert fifo.get_many(0.0) == []


def test_the_smallest_fifo_takes_the_largest_message_again_and_again(kind: str) -> None:
    fifo = make_fifo(kind, LARGEST_MESSAGE_BYTES + 8)
    for number in range(20):
        largest = bytes([number]) * LARGEST_MESSAGE_BYTES
        fifo.put(largest, 1.0)
        assert fifo.get_many(1.0) == [largest]
        fifo.put(bytes(number + 1), 1.0)
        assert fifo.get_many(1.0) == [bytes(number + 1)]
    fifo.close()
    with pytest.raises(EngineError, match=r"a fifo of 65543 bytes; expected at least 65544"):
        make_fifo(kind, LARGEST_MESSAGE_BYTES + 7)


def test_a_handle_is_plain_and_its_descriptors_are_those_to_pass(fifo: Fifo, kind: str) -> None:
    handle = json.loads(json.dumps(fifo.handle()))
    assert handle == fifo.handle()
    assert handle["kind"] == kind
    assert set(fifo.descriptors) <= set(handle.values())
    assert not any(os.get_inheritable(descriptor) for descriptor in fifo.descriptors)


def test_fifos_made_after_all_their_processes_were_killed_work(kind: str) -> None:
    for _ in range(2):
        fifo = make_fifo(kind, SIZE)
        with start(
            "write_fifo", fifo.descriptors, handle=fifo.handle(), writer=0, messages=10**6
        ) as process:
            assert heard(process) == "ready"
            tell(process)
            # In the middle of its writing.
            assert fifo.get_many(60.0)
            process.kill()
            process.wait()
        # Nothing more is asked of it: the process may have been killed with the lock in its hands.
        fifo.close()


def test_unknown_kinds_are_refused_by_name() -> None:
    with pytest.raises(
        EngineError, match=r"no fifos of kind 'pigeons' here; expected one of .*sockets"
    ):
        make_fifo("pigeons", SIZE)


def test_without_faster_fifo_there_are_sockets(repository: Path) -> None:
    code = """
import sys
sys.modules["faster_fifo"] = None
from pbt.errors import EngineError
from pbt.transport.fifo import fifo_kinds, make_fifo
fifo = make_fifo("sockets", 100_000)
fifo.put(b"message", 1.0)
print(fifo_kinds(), fifo.get_many(1.0))
try:
    make_fifo("faster_fifo", 100_000)
except EngineError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "('sockets',) [b'message']",
        "no fifos of kind 'faster_fifo' here; expected one of sockets",
    ]


def test_one_process_may_attach_to_its_own_sockets(kind: str) -> None:
    fifo = make_fifo(kind, SIZE)
    handle = {
        name: os.dup(value) if value in fifo.descriptors else value
        for name, value in fifo.handle().items()
    }
    attached = attach_fifo(handle)
    assert isinstance(attached, SocketFifo) == (kind == "sockets")
    fifo.put(b"there", 1.0)
    assert attached.get_many(1.0) == [b"there"]
    attached.put(b"back", 1.0)
    assert fifo.get_many(1.0) == [b"back"]
    attached.close()
    fifo.close()
