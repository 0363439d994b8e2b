"""The binary format of messages between rollout workers and policy servers.

These messages travel thousands of times a second, so they are fixed records without field names.
A worker sends requests for actions, and attaches frozen players to its policy numbers. Both go
through one queue, so the server knows a player before the first request for it. A server sends the
numbers of the requests that it answered. The rows themselves stand in the slab.
"""

import struct
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from pbt.errors import EngineError
from pbt.records import PlayerRef
from pbt.transport.messages import ActionRequest

# A longer request is sent in parts (`split_request`), since queues take messages up to 64 KB.
MAX_ROWS = 1024

_REQUEST_KIND, _ATTACH_KIND, _DETACH_KIND = 1, 2, 3
_PLAYER_KINDS: tuple[Literal["member", "snapshot", "scripted", "guest"], ...] = (
    "member",
    "snapshot",
    "scripted",
    "guest",
)

# kind, greedy, role, source, number, policy, number of rows; then the arrays slots, rows, keys and
# steps, with 8 bytes per row each
_REQUEST = struct.Struct("<BBHIIII4x")
# kind, kind of player, role, source, policy; then the player's name in UTF-8
_ATTACH = struct.Struct("<BBHII")
_DETACH = struct.Struct("<B3xII")
# number, version, digest of the weights
_REPLY = struct.Struct("<Iqq")


class Incoming(NamedTuple):
    """A request as the server sees it.

    source   number of the worker that sent it
    number   the worker's number for this request
    request  the rows
    """

    source: int
    number: int
    request: ActionRequest


class Attach(NamedTuple):
    """A message: from now on `policy` of this source is the frozen `player` in `role`."""

    source: int
    policy: int
    player: PlayerRef
    role: int


class Detach(NamedTuple):
    """A message: the source sends no more requests for this policy."""

    source: int
    policy: int


def split_request(request: ActionRequest) -> list[ActionRequest]:
    """Split a request into requests of at most MAX_ROWS rows, in order."""
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
    """The bytes of a request, which may have at most MAX_ROWS rows."""
    policy, role, slots, rows, keys, steps, greedy = request
    head = _REQUEST.pack(_REQUEST_KIND, greedy, role, source, number, policy, len(slots))
    return b"".join((head, slots.tobytes(), rows.tobytes(), keys.tobytes(), steps.tobytes()))


def unpack_request(message: bytes) -> Incoming:
    """The reverse of `pack_request`. The arrays are read-only views into the message."""
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
    """The message that a worker sent. Raises EngineError when it is none of the three kinds."""
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


def pack_replies(replies: Sequence[tuple[int, int, int]]) -> bytes:
    """The bytes of (number of the request, version that acted, digest of the weights that acted).

    They are for requests of one worker.
    """
    return b"".join(_REPLY.pack(*reply) for reply in replies)


def unpack_replies(message: bytes) -> list[tuple[int, int, int]]:
    """The reverse of `pack_replies`."""
    return list(_REPLY.iter_unpack(message))
