"""One socket between two processes: order, ends, and a main process that never waits."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from pbt.errors import EngineError
from pbt.transport.channel import Channel, PeerGone, channel_pair
from pbt.transport.wire import Wire
from tests.pbt.transport.programs import Note, Order, heard, start, tell

WIRE = Wire((Note, Order))


@pytest.fixture
def raw_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = channel_pair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def pair(raw_pair: tuple[socket.socket, socket.socket]) -> tuple[Channel, Channel]:
    """Two children's ends."""
    ours, theirs = raw_pair
    return Channel(ours, WIRE, WIRE, deadline_s=5.0), Channel(theirs, WIRE, WIRE)


@contextlib.contextmanager
def child(program: str) -> Iterator[tuple[Channel, subprocess.Popen[str]]]:
    """The main process's end of a channel to another process."""
    ours, theirs = channel_pair()
    with start(program, [theirs.fileno()], fd=theirs.fileno()) as process:
        theirs.close()
        channel = Channel(ours, WIRE, WIRE, blocking_send=False)
        yield channel, process
        channel.close()


def receive(channel: Channel, count: int) -> list[Any]:
    """The next `count` messages, in the order in which they arrive."""
    messages: list[Any] = []
    while len(messages) < count:
        assert channel.wait(60.0), f"{len(messages)} of {count} came"
        messages += channel.receive()
    return messages


def until_the_end(channel: Channel) -> list[Any]:
    messages: list[Any] = []
    with contextlib.suppress(PeerGone):
        while channel.wait(60.0):
            messages += channel.receive()
    return messages


def test_messages_arrive_in_order_and_as_many_as_there_are(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    assert ours.receive() == []
    assert not ours.wait(0.0)
    theirs.send(Note(0))
    theirs.send_many([Note(1, "one"), Order(2)])
    theirs.send_many([])
    assert ours.wait(0.0)
    assert ours.receive() == [Note(0), Note(1, "one"), Order(2)]
    assert ours.receive() == []


def test_a_message_that_comes_byte_by_byte_arrives_when_it_is_whole(
    raw_pair: tuple[socket.socket, socket.socket],
) -> None:
    raw, theirs = raw_pair
    channel = Channel(theirs, WIRE, WIRE)
    frames = b"".join(
        struct.pack("<I", len(payload)) + payload
        for payload in (WIRE.encode(Note(1, "é")), WIRE.encode(Order(2)))
    )
    arrived = []
    for byte in frames:
        raw.send(bytes([byte]))
        assert channel.wait(1.0)
        arrived.append(channel.receive())
    assert [messages for messages in arrived if messages] == [[Note(1, "é")], [Order(2)]]
    assert arrived[-1] == [Order(2)]


def test_a_stream_that_is_no_channel_is_refused(
    raw_pair: tuple[socket.socket, socket.socket],
) -> None:
    raw, theirs = raw_pair
    raw.send(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(EngineError, match="a frame of .* the stream is damaged"):
        Channel(theirs, WIRE, WIRE).receive()


def test_a_message_that_cannot_travel_takes_no_other_with_it(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    with pytest.raises(EngineError, match="message Note"):
        ours.send_many([Note(1), Note(2, content=object())])  # type: ignore[arg-type]
    ours.send(Note(3))
    assert theirs.receive() == [Note(3)]


def test_what_was_sent_before_the_end_is_received_and_then_the_end_every_time(
    pair: tuple[Channel, Channel],
) -> None:
    ours, theirs = pair
    theirs.send_many([Note(number) for number in range(100)])
    theirs.close()
    assert len(ours.receive()) == 100
    for _ in range(3):
        assert ours.wait(0.0)
        with pytest.raises(PeerGone, match="the process at the other end is gone$"):
            ours.receive()


def test_what_a_peer_left_unread_does_not_hide_what_it_had_sent(
    raw_pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = (
        Channel(raw_pair[0], WIRE, WIRE, blocking_send=False),
        Channel(raw_pair[1], WIRE, WIRE),
    )
    theirs.send(Note(1))
    ours.send(Note(2))
    theirs.close()
    ours.send(Note(3))
    assert ours.receive() == [Note(1)]
    with pytest.raises(PeerGone):
        ours.receive()


def test_an_end_in_the_middle_of_a_message_says_so(
    raw_pair: tuple[socket.socket, socket.socket],
) -> None:
    raw, theirs = raw_pair
    channel = Channel(theirs, WIRE, WIRE)
    payload = WIRE.encode(Note(1, "text"))
    raw.send((struct.pack("<I", len(payload)) + payload)[:-2])
    raw.close()
    assert channel.receive() == []
    with pytest.raises(PeerGone, match=r"in the middle of a message \(\d+ bytes of it came\)"):
        channel.receive()


def test_another_process_answers_and_leaves_with_this_one() -> None:
    with child("echo") as (channel, process):
        notes = [Note(number, content=bytes(number * 1000)) for number in range(300)]
        for note in notes:
            channel.send(note)
        assert receive(channel, len(notes)) == notes
        channel.send(Order(2000))
        assert [note.number for note in receive(channel, 2000)] == list(range(2000))
        channel.close()
        assert heard(process) == "alone"
        assert process.wait(60) == 0


def test_one_very_long_message_is_received_in_one_piece() -> None:
    with child("echo") as (channel, _):
        note = Note(1, content=os.urandom(1 << 16) * 800)
        started = time.monotonic()
        channel.send(note)
        assert time.monotonic() - started < 5.0
        while channel.pending:
            channel.flush()
        assert receive(channel, 1) == [note]


@pytest.mark.parametrize("before", [1, 700, 5000])
def test_of_a_killed_process_everything_it_had_sent_arrives_without_a_gap(before: int) -> None:
    with child("echo") as (channel, process):
        channel.send(Order(10**9))
        messages = receive(channel, before)
        process.send_signal(signal.SIGKILL)
        process.wait()
        messages += until_the_end(channel)
        assert [note.number for note in messages] == list(range(len(messages)))
        assert all(len(note.content) == note.number % 5000 for note in messages)
        channel.send(Note(1))
        assert channel.flush()


def test_the_main_process_never_waits_for_one_that_does_not_listen() -> None:
    with child("deaf") as (channel, process):
        assert heard(process) == "ready"
        notes = [Note(number, content=bytes(100_000)) for number in range(300)]
        slowest = 0.0
        for note in notes:
            started = time.monotonic()
            channel.send(note)
            slowest = max(slowest, time.monotonic() - started)
        assert slowest < 5.0
        assert channel.pending > 20_000_000
        assert not channel.flush()
        tell(process)
        while not channel.flush():
            assert process.poll() is None
        channel.close()
        assert int(heard(process)) == sum(4 + len(WIRE.encode(note)) for note in notes)


def test_the_outbox_of_a_killed_process_is_forgotten() -> None:
    with child("deaf") as (channel, process):
        channel.send_many([Note(number, content=bytes(100_000)) for number in range(100)])
        assert channel.pending
        process.kill()
        process.wait()
        channel.send(Note(1))
        assert channel.flush()
        assert channel.pending == 0
        with pytest.raises(PeerGone):
            channel.receive()


def test_a_child_that_cannot_send_fails_after_its_deadline_and_stays_failed(
    raw_pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = (
        Channel(raw_pair[0], WIRE, WIRE, deadline_s=0.1),
        Channel(raw_pair[1], WIRE, WIRE),
    )
    with pytest.raises(EngineError, match=r"took nothing for 0.1 s; it is blocked or stopped"):
        ours.send(Note(1, content=bytes(10_000_000)))
    with pytest.raises(PeerGone, match=r"took nothing for 0.1 s"):
        ours.send(Note(2))
    ours.close()
    assert until_the_end(theirs) == []


def test_a_child_learns_of_the_main_process_s_end_when_it_sends(
    pair: tuple[Channel, Channel],
) -> None:
    ours, theirs = pair
    theirs.close()
    with pytest.raises(PeerGone, match="the process at the other end is gone"):
        ours.send(Note(1))


def test_a_child_waits_in_send_until_the_main_process_listens(
    pair: tuple[Channel, Channel],
) -> None:
    ours, theirs = pair
    content = os.urandom(1 << 16) * 100
    sender = threading.Thread(target=ours.send, args=(Note(1, content=content),))
    sender.start()
    assert receive(theirs, 1) == [Note(1, content=content)]
    sender.join(60)
    assert not sender.is_alive()


def test_threads_may_send_at_once(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair

    def send(thread: int) -> None:
        for number in range(300):
            ours.send_many([Note(number, str(thread), bytes(number * 10)), Order(thread)])

    threads = [threading.Thread(target=send, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    messages = receive(theirs, 4 * 600)
    for thread in threads:
        thread.join()
    for number in range(4):
        assert [
            note.number for note in messages if isinstance(note, Note) and note.text == str(number)
        ] == list(range(300))
    # What is sent together stays together.
    assert all(
        second == Order(int(first.text))
        for first, second in zip(messages[::2], messages[1::2], strict=True)
    )


def test_a_process_that_outlives_its_parent_does_not_keep_the_channel_open() -> None:
    with child("leave_a_grandchild") as (channel, process):
        (note,) = receive(channel, 1)
        try:
            process.wait(60)
            assert until_the_end(channel) == []
            with pytest.raises(PeerGone):
                channel.receive()
            os.kill(note.number, 0)
        finally:
            os.kill(note.number, signal.SIGKILL)


def test_ends_are_closed_in_other_programs(raw_pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = raw_pair
    theirs.set_inheritable(True)
    Channel(theirs, WIRE, WIRE)
    assert not ours.get_inheritable()
    assert not theirs.get_inheritable()
    assert ours.family == socket.AF_UNIX
