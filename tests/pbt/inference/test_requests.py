"""Messages between workers and policy servers are unpacked as they were packed, and fit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pbt.errors import EngineError
from pbt.inference.requests import (
    MAX_ROWS,
    Attach,
    Detach,
    Incoming,
    pack_attach,
    pack_detach,
    pack_replies,
    pack_request,
    split_request,
    unpack,
    unpack_replies,
)
from pbt.records import PlayerRef
from pbt.transport.fifo import LARGEST_MESSAGE_BYTES
from pbt.transport.messages import ActionRequest

U32, U16 = st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)


def request_of(policy: int, role: int, greedy: bool, rows: int, seed: int) -> ActionRequest:
    rng = np.random.default_rng(seed)

    def drawn(dtype: Any) -> NDArray[Any]:
        return rng.integers(0, np.iinfo(dtype).max, rows, dtype, endpoint=True)

    return ActionRequest(
        policy, role, drawn(np.int64), drawn(np.int64), drawn(np.uint64), drawn(np.uint64), greedy
    )


def same(one: ActionRequest, other: ActionRequest) -> bool:
    plain = (one.policy, one.role, one.greedy) == (other.policy, other.role, other.greedy)
    arrays = list(zip(one[2:6], other[2:6], strict=True))
    return plain and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in arrays)


@given(
    source=U32,
    number=U32,
    policy=U32,
    role=U16,
    greedy=st.booleans(),
    rows=st.integers(0, MAX_ROWS),
    seed=U32,
)
def test_requests_round_trip(
    source: int, number: int, policy: int, role: int, greedy: bool, rows: int, seed: int
) -> None:
    request = request_of(policy, role, greedy, rows, seed)
    message = pack_request(source, number, request)
    assert len(message) <= LARGEST_MESSAGE_BYTES
    found = unpack(message)
    assert isinstance(found, Incoming)
    assert (found.source, found.number) == (source, number) and same(found.request, request)


@given(
    kind=st.sampled_from(["member", "snapshot", "scripted"]),
    name=st.text(),
    source=U32,
    policy=U32,
    role=U16,
)
def test_players_round_trip(kind: str, name: str, source: int, policy: int, role: int) -> None:
    attach = Attach(source, policy, PlayerRef(kind, name), role)  # type: ignore[arg-type]
    assert unpack(pack_attach(attach)) == attach
    assert unpack(pack_detach(Detach(source, policy))) == Detach(source, policy)


@given(st.lists(st.tuples(U32, st.integers(0, 2**62), st.integers(0, 2**63 - 1))))
def test_replies_round_trip(replies: list[tuple[int, int, int]]) -> None:
    assert unpack_replies(pack_replies(replies)) == replies


@given(rows=st.integers(0, 5 * MAX_ROWS), seed=U32)
def test_long_requests_are_split_in_order(rows: int, seed: int) -> None:
    request = request_of(1, 2, True, rows, seed)
    parts = split_request(request)
    assert all(len(part.slots) <= MAX_ROWS for part in parts)
    joined = [np.concatenate([part[field] for part in parts]) for field in range(2, 6)]
    assert same(ActionRequest(1, 2, *joined, True), request)
    assert {part[:2] + part[6:] for part in parts} == {(1, 2, True)}


@pytest.mark.parametrize(
    "message", [b"", b"\x07rest", pack_request(0, 0, request_of(0, 0, False, 3, 1))[:-1]]
)
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(EngineError, match=r"expected"):
        unpack(message)
