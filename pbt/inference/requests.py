"""What rollout workers and policy servers say to each other: fixed binary records, since this is
said thousands of times a second.

Worker -> server: a request for actions, and which frozen player a policy number of that worker
means; in one queue, so a player is known before the first request for it. Server -> worker: the
numbers of the requests that were answered. The rows themselves stand in the slab.
"""

import struct
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from pbt.errors import EngineError
from pbt.records import PlayerRef
from pbt.transport.messages import ActionRequest

# A longer request is sent in parts (`split_request`): queues take messages up to 64 KB.
MAX_ROWS = 1024

_REQUEST_KIND, _ATTACH_KIND, _DETACH_KIND = 1, 2, 3
_PLAYER_KINDS: tuple[Literal["member", "snapshot", "scripted", "guest"], ...] = (
    "member",
    "snapshot",
    "scripted",
    "guest",
)

# kind, greedy, role, source, number, policy, rows; then slots, rows, keys, steps, 8 bytes for each
# row of each
_REQUEST = struct.Struct("<BBHIIII4x")
# kind, kind of player, role, source, policy; then the player's name
_ATTACH = struct.Struct("<BBHII")
_DETACH = struct.Struct("<B3xII")
# number, version
_REPLY = struct.Struct("<Iq")


class Incoming(NamedTuple):
    """A request on the server's side. source: the worker that asks; number: its name for the
    request.
    """

    source: int
    number: int
    request: ActionRequest


class Attach(NamedTuple):
    """From now on `policy` of this source is the frozen `player` in `role`."""

    source: int
    policy: int
    player: PlayerRef
    role: int


class Detach(NamedTuple):
    """The source asks for this policy no more."""

    source: int
    policy: int


def split_request(request: ActionRequest) -> list[ActionRequest]:
    """The same rows in requests of at most MAX_ROWS rows, in order."""
    rows = len(request.slots)
    if rows <= MAX_ROWS:
        return [request]
    parts = [slice(start, start + MAX_ROWS) for start in range(0, rows, MAX_ROWS)]
    return [
        request._replace(
            slots=request.slots[part],
            rows=request.rows[part],
            keys=request.keys[part],
            steps=request.steps[part],
        )
        for part in parts
    ]


def pack_request(source: int, number: int, request: ActionRequest) -> bytes:
    """A request of at most MAX_ROWS rows."""
    policy, role, slots, rows, keys, steps, greedy = request
    head = _REQUEST.pack(_REQUEST_KIND, greedy, role, source, number, policy, len(slots))
    return b"".join((head, slots.tobytes(), rows.tobytes(), keys.tobytes(), steps.tobytes()))


def unpack_request(message: bytes) -> Incoming:
    """The reverse of `pack_request`; the arrays are views into the message, not writable."""
    _, greedy, role, source, number, policy, count = _REQUEST.unpack_from(message)
    start, step = _REQUEST.size, 8 * count
    if len(message) != start + 4 * step:
        raise EngineError(
            f"a request of {count} rows has {len(message)} bytes; expected {start + 4 * step}"
        )
    signed = np.frombuffer(message, np.int64, 2 * count, start)
    unsigned = np.frombuffer(message, np.uint64, 2 * count, start + 2 * step)
    request = ActionRequest(
        policy,
        role,
        signed[:count],
        signed[count:],
        unsigned[:count],
        unsigned[count:],
        bool(greedy),
    )
    return Incoming(source, number, request)


def pack_attach(attach: Attach) -> bytes:
    source, policy, player, role = attach
    return (
        _ATTACH.pack(_ATTACH_KIND, _PLAYER_KINDS.index(player.kind), role, source, policy)
        + player.name.encode()
    )


def pack_detach(detach: Detach) -> bytes:
    return _DETACH.pack(_DETACH_KIND, *detach)


def unpack(message: bytes) -> Incoming | Attach | Detach:
    """Whatever a worker sent. Raises: EngineError when it is none of the three."""
    kind = message[0] if message else 0
    if kind == _REQUEST_KIND:
        return unpack_request(message)
    if kind == _ATTACH_KIND:
        _, player_kind, role, source, policy = _ATTACH.unpack_from(message)
        return Attach(
            source,
            policy,
            PlayerRef(_PLAYER_KINDS[player_kind], message[_ATTACH.size :].decode()),
            role,
        )
    if kind == _DETACH_KIND:
        return Detach(*_DETACH.unpack(message)[1:])
    raise EngineError(f"a policy server got a message of kind {kind}; expected 1, 2 or 3")


def pack_replies(replies: Sequence[tuple[int, int]]) -> bytes:
    """(number of the request, version that acted) of requests of one worker."""
    return b"".join(_REPLY.pack(number, version) for number, version in replies)


def unpack_replies(message: bytes) -> list[tuple[int, int]]:
    """The reverse of `pack_replies`."""
    return list(_REPLY.iter_unpack(message))
