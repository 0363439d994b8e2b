"""Messages to bytes and back."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.errors import EngineError
from pbt.learning.attesting import Attestation, LogProbSample
from pbt.learning.statistics import UpdateStats
from pbt.matchmaking.roster import MemberEntry, Roster, SnapshotEntry
from pbt.records import PlayerRef, SeatRecord
from pbt.runtime import control
from pbt.runtime.placements import ProcessPlan, Shard
from pbt.saved import (
    GameColumns,
    SavedFiller,
    SavedPool,
    SavedWorker,
    SeatColumns,
    TableColumns,
    WaitingColumns,
)
from pbt.transport.messages import (
    ActionRequest,
    GameEnd,
    GamePlan,
    GamesOver,
    RolloutPermit,
    SeatPlan,
    SlotFull,
)
from pbt.transport.wire import Wire

MEMBER = SeatPlan(PlayerRef("member", "m0"), 0, 3, True)
SNAPSHOT = SeatPlan(PlayerRef("snapshot", "ab" * 32), 5, 0, False)
PLAN = GamePlan(
    7, "evaluation", 2**63 - 1, (MEMBER, SNAPSHOT), (1, "action", 4, 7), 3, 2**62, True, True, 12
)
SEATS = (
    SeatRecord(PlayerRef("member", "m0"), 3, 10, 12, 0, 1.5, None),
    SeatRecord(PlayerRef("scripted", "random"), 0, 0, 0, 1, -1.5, 3.0),
)
STATE = {
    "states": [None, {"plan": [1, "x"], "seed": 2**64 - 1}],
    "rate": 1e-300,
    "empty": {},
    "text": "é\x00",
    "flags": [True, False],
}
WORKER = SavedWorker(
    TableColumns([0, 1], [0.5, 1e-300]),
    GameColumns(
        table=[1],
        game_count=[7],
        kind=["evaluation"],
        seed=[2**64 - 1],
        noise=[("action", 4, 7)],
        opening_plies=[3],
        opening_seed=[2**62],
        record_actions=[True],
        greedy=[True],
        pair=[None],
        due=[2],
        steps=[5],
        moves=[3],
        history=[[0, 1, 0.5]],
        actions=[[(1, [2, -0.25])]],
    ),
    SeatColumns(
        table=[1],
        index=[0],
        role=[1],
        kind=["member"],
        name=["m0"],
        policy=[4],
        generation=[3],
        learning=[True],
        key=[2**64 - 1],
        slot=[-1],
        row=[2],
        first_row=[1],
        pending=[True],
        episode_start=[False],
        over=[True],
        steps=[5],
        frames=[6],
        returns=[math.inf],
        acted=[True],
        version_start=[None],
        version_end=[7],
        began_generation=[2],
    ),
    WaitingColumns([1], [0]),
    [0],
    [SavedFiller(SavedPool([3, 1], {5: [(2, 1)]}), 9, {"voided": 2})],
)
STATS = UpdateStats(
    1, 2, 3, 0.1, 0.2, 3, 4, 4, 5, 6, {"kl": math.inf, "entropy": 0.4}, round_lag=(0, 1)
)

ROSTER = Roster(
    (MemberEntry("m0", "cat", 0, 2, learning=False), MemberEntry("m1", "mouse", 1)),
    3,
    0.25,
    (SnapshotEntry("ab", "m0", "cat"),),
    {"ab": {"m0": 0.25, "m1": 1.0}},
)

# One example of everything that travels, with every field different from its default.
EXAMPLES: tuple[Any, ...] = (
    control.Assignment(ProcessPlan("worker 0", (0, 1), True, 2, (Shard("m0", 1, 2),)), STATE),
    control.Ready(),
    control.Go(),
    control.Pause(3),
    control.Paused(3, [WORKER], ("ab", "cd"), 9),
    control.TurnsPlayed(),
    control.PlayTurns(3, 5),
    control.PlayTurns(None),
    control.Stop(),
    control.Failed("EngineError", "text", "trace", True),
    control.Permits((RolloutPermit(0, 1), RolloutPermit(1, 2))),
    control.SetRoster(ROSTER),
    control.CloseWith(3),
    control.Quiet(),
    control.GameError("place", "text"),
    control.LongGame("text"),
    control.Gather("m0", (1, 2, 3), lanes=True),
    control.Gathered("m0"),
    control.Train("m0", 5, publish=False),
    control.Trained("m0"),
    control.Publish("m0"),
    control.Updated("m0", STATS),
    control.Discard("m0"),
    control.Copy("m0", "ab"),
    control.Copied("m0"),
    control.SetHyperparams("m0", {"learning_rate": 1e-4, "gamma": 1.0}),
    control.MemberError("m0", "text"),
    control.Attest("m0", 4),
    control.Attested(
        "m0",
        Attestation(
            7,
            2**63 - 1,
            {"learning_rate": 1e-4},
            {"learning_rate": 0.5},
            3,
            LogProbSample(9, 1e-6, 1e-4),
            None,
        ),
    ),
    SlotFull(0, 1, 2, 3),
    GamesOver(
        [4],
        [2],
        [7],
        [1],
        [PLAN.seats],
        [0],
        [20],
        [30],
        ["won"],
        ["cafe"],
        [0, 1],
        [-1, 5],
        [0, 6],
        [0, 1],
        [1.5, -1.5],
        [],
        [(1, 5, 2**63 - 1)],
    ),
    GameEnd(
        4, PLAN, SEATS, 20, 30, "won", "cafe", b"\x00\xff", (((1, 2**63 - 1), (2, 5)), ((0, 7),))
    ),
)


def through(types: tuple[type[Any], ...], message: Any) -> Any:
    return Wire(types).decode(Wire(types).encode(message))


@pytest.mark.parametrize(
    "types", [control.FROM_MAIN, control.TO_MAIN], ids=["from main", "to main"]
)
def test_every_message_of_a_run_arrives_as_it_was_sent(types: tuple[type[Any], ...]) -> None:
    wire = Wire(types)
    examples = [example for example in EXAMPLES if type(example) in types]
    assert {type(example) for example in examples} == set(types)
    for example in examples:
        arrived = wire.decode(wire.encode(example))
        assert type(arrived) is type(example)
        assert arrived == example


def test_not_a_number_travels() -> None:
    stats = replace(STATS, means={"kl": math.nan}, grad_norm=-math.inf)
    arrived = through(control.TO_MAIN, control.Updated("m0", stats)).stats
    assert math.isnan(arrived.means["kl"])
    assert arrived.grad_norm == -math.inf


class Anything(NamedTuple):
    content: Any


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(plain)
def test_plain_content_arrives_as_it_was_sent(content: Any) -> None:
    assert through((Anything,), Anything(content)) == Anything(content)


def test_numpy_scalars_travel_as_numbers() -> None:
    sent = SlotFull(np.int64(1), np.int32(2), np.uint8(3), np.intp(4))  # type: ignore[arg-type]
    arrived = through((SlotFull,), sent)
    assert arrived == SlotFull(1, 2, 3, 4)
    assert {type(field) for field in arrived} == {int}
    content = through(
        (Anything,),
        Anything([np.float32(0.5), np.float64(0.1), np.bool_(True), np.uint64(2**64 - 1)]),
    ).content
    assert content == [0.5, 0.1, True, 2**64 - 1]
    assert [type(value) for value in content] == [float, float, bool, int]


@pytest.mark.parametrize(
    "content",
    [np.zeros(3), {1, object()}, 2**64, [object()], {"a": lambda: 0}],
    ids=["array", "set", "too large", "object", "function"],
)
def test_what_cannot_travel_is_refused_with_the_message_s_name(content: Any) -> None:
    with pytest.raises(EngineError, match="message Anything: "):
        Wire((Anything,)).encode(Anything(content))


def test_foreign_messages_and_damaged_bytes_are_refused_by_name() -> None:
    wire = Wire((SlotFull, Anything))
    with pytest.raises(EngineError, match=r"type Go; expected one of SlotFull, Anything"):
        wire.encode(control.Go())
    for payload, found in (
        (b"", "no bytes"),
        (b"\x02", "kind 2"),
        (b"\x00", "SlotFull"),
        (b"\x00\x93\x01", "SlotFull"),
        (b"\x01\xc1", "Anything"),
    ):
        with pytest.raises(EngineError, match=f"{found}.*both ends must run the same program"):
            wire.decode(payload)
    with pytest.raises(EngineError, match="SlotFull.*Expected `int`, got `str`"):
        wire.decode(b"\x00" + b"\x94\x01\x02\x03\xa1x")


class Ambiguous(NamedTuple):
    content: list[int] | tuple[int, ...]


def test_types_that_cannot_travel_are_refused_at_once_and_arrays_when_they_are_sent() -> None:
    with pytest.raises(EngineError, match="a wire of 2 types, 1 of them different"):
        Wire((SlotFull, SlotFull))
    with pytest.raises(EngineError, match="a type that cannot travel"):
        Wire((Ambiguous,))
    slots, keys = np.zeros(2, np.int64), np.zeros(2, np.uint64)
    with pytest.raises(
        EngineError, match="message ActionRequest: a value of type ndarray cannot travel"
    ):
        Wire((ActionRequest,)).encode(ActionRequest(0, 0, slots, slots, keys, keys, False))


def test_nothing_that_was_decoded_refers_to_the_payload() -> None:
    wire = Wire((Anything,))
    payload = bytearray(wire.encode(Anything([b"abc" * 100, "text"])))
    arrived = wire.decode(memoryview(payload))
    payload[:] = bytes(len(payload))
    assert arrived.content == [b"abc" * 100, "text"]
