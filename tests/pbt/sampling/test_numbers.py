"""A number that cannot be learned from voids its game; the message says where it came from."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from pbt.envs.contract import SeatTurn
from pbt.envs.numbers import LARGEST
from pbt.envs.spaces import ObservationCodec
from pbt.errors import EnvError, NumberError
from pbt.sampling.leaf_column import LeafColumn
from tests.pbt.sampling.test_spoiled_games import Faulty, play

BOX = spaces.Box(-np.inf, np.inf, (2,), np.float32)


def column(space: spaces.Space[Any]) -> LeafColumn:
    (leaf,) = ObservationCodec(space).leaves
    return LeafColumn(leaf, np.zeros((2, 3, *leaf.shape), leaf.dtype))


def wide(dtype: Any) -> spaces.Box:
    return spaces.Box(np.iinfo(dtype).min, np.iinfo(dtype).max, (2,), dtype)


@pytest.mark.parametrize(
    ("space", "part"),
    [
        (BOX, np.array([0, np.inf], np.float32)),
        (BOX, np.array([-np.inf, np.inf], np.float32)),
        (BOX, np.array([np.nan, 0], np.float32)),
        (BOX, np.array([1e37, 0], np.float32)),
        (BOX, np.array([0, -1.1e9], np.float32)),
        (BOX, np.array([1e299, 0])),
        (BOX, np.array([2**40, 0])),
        (BOX, [0.0, float("nan")]),
        (spaces.Box(-1e300, 1e300, (2,), np.float64), np.array([1e299, 1e200])),
        (spaces.Box(-np.inf, np.inf, (100, 100), np.float32), np.full((100, 100), np.nan)),
        (
            spaces.Box(-np.inf, np.inf, (100, 100), np.float32),
            np.full((100, 100), np.inf, np.float32),
        ),
        (spaces.Box(-np.inf, np.inf, (), np.float32), np.float32("inf")),
        (spaces.Box(-9, 9, (2,), np.float16), np.array([np.inf, 0], np.float16)),
        (wide(np.int64), np.array([2**40, 0])),
        (wide(np.int64), np.array([-(2**63), 0])),
        (wide(np.int32), np.array([2**31 - 1, 0], np.int32)),
        (wide(np.int32), np.array([2**40, 0])),
        (wide(np.uint8), np.array([300, 0])),
        (wide(np.uint8), np.array([0.5, 0])),
        (wide(np.uint8), np.array([np.nan, 0])),
        (spaces.MultiBinary(2), np.array([0, 0.5])),
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), -1),
        (spaces.MultiDiscrete([2, 3]), np.array([2, 0])),
    ],
)
def test_a_number_that_cannot_be_learned_from_is_refused(
    space: spaces.Space[Any], part: Any
) -> None:
    with pytest.raises(NumberError, match="observation leaf observation is .*; expected"):
        column(space).write(1, 2, part)


@pytest.mark.parametrize(
    ("space", "part"),
    [
        (BOX, np.array([LARGEST, -LARGEST], np.float32)),
        (BOX, np.array([LARGEST, 0.1])),
        (BOX, np.array([10**9, 0])),
        (BOX, [0.0, 1.0]),
        (spaces.Box(-np.inf, np.inf, (100, 100), np.float32), np.full((100, 100), LARGEST)),
        (spaces.Box(-np.inf, np.inf, (1,), np.float32), np.float32(3)),
        (wide(np.int64), np.array([10**9, -(10**9)])),
        (wide(np.uint8), np.array([255, 0])),
        (wide(np.uint8), np.array([255.0, 0])),
        (wide(np.uint8), np.array([255, 0], np.uint8)),
        (spaces.MultiBinary(2), np.array([True, False])),
        (spaces.Discrete(3), 2),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 2])),
    ],
)
def test_every_other_number_is_written(space: spaces.Space[Any], part: Any) -> None:
    written = column(space)
    written.write(1, 2, part)
    assert np.array_equal(
        written.array[1, 2],
        np.broadcast_to(part, written.array.shape[2:]).astype(written.array.dtype),
    )


def once_in(game: int, turn: Callable[[Faulty], SeatTurn]) -> Callable[[Faulty], SeatTurn | None]:
    """A fault in the third turn of one game in so many."""
    begun = [0]

    def fault(faulty: Faulty) -> SeatTurn | None:
        begun[0] += faulty.decisions == 0
        return turn(faulty) if begun[0] % game == 0 and faulty.decisions == 2 else None

    return fault


def infinite(game: Faulty) -> SeatTurn:
    return SeatTurn(0, np.array([0, np.inf], np.float32), None, (0.0,))


WHERE = r"game 10 at table 0 \(seed 10\), step 2, seat 0 \(a\): "


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (infinite, WHERE + r"observation leaf observation is inf at \[1\]; expected finite"),
        (lambda game: SeatTurn(0, np.zeros(2), None, (np.nan,)), WHERE + "reward is nan; expected"),
        (lambda game: SeatTurn(0, np.zeros(2), None, (1e30,)), WHERE + r"reward is 1e\+30; "),
        (
            lambda game: SeatTurn(0, np.array([np.nan, 0]), None, (0.0,), truncated=True),
            WHERE + r"observation leaf observation is nan at \[0\]; ",
        ),
    ],
)
def test_one_such_number_voids_its_game_and_says_where_it_came_from(
    turn: Callable[[Faulty], SeatTurn], words: str
) -> None:
    ends = play(once_in(10, turn), turns=40, learning=True)
    voided = [end.reason for end in ends if end.reason.startswith("voided")]
    assert len(voided) == 1 and re.match("voided: " + words, voided[0]), voided
    assert len(ends) > 8


def test_the_second_such_game_ends_the_run_without_a_traceback_of_the_engine() -> None:
    with pytest.raises(EnvError, match=r"^game 20 at table 0 .* is inf at \[1\]") as raised:
        play(once_in(10, infinite))
    assert "Traceback" not in str(raised.value) and "arena env check" in str(raised.value)


def test_points_that_are_not_finite_are_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from pbt.envs.contract import Outcome

    monkeypatch.setattr(Faulty, "outcome", lambda game: Outcome((0,), (float("nan"),)))
    with pytest.raises(EnvError, match=r"points \(nan,\); expected finite numbers"):
        play(lambda game: None)
