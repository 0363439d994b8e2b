"""What an action is: of every kind of space, its packing, and what a game takes of it."""

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from pbt.envs.actions import ActionSpec, GamePacking
from pbt.envs.number_bounds import UNBOUNDED
from pbt.errors import EnvError

INF = np.inf
HALF_OPEN = spaces.Box(np.array([-INF, 0.0, -INF]), np.array([INF, INF, 3.0]), dtype=np.float64)
MIXED = spaces.Dict(
    {
        "push": spaces.Box(-2.0, 2.0, (2,)),
        "gear": spaces.Discrete(3, start=5),
        "rest": spaces.Tuple(
            (HALF_OPEN, spaces.MultiBinary((2, 1)), spaces.Box(0, 255, (1, 2), np.uint8))
        ),
    }
)
KINDS: dict[str, gymnasium.Space[Any]] = {
    "discrete": spaces.Discrete(4),
    "shifted": spaces.Discrete(3, start=-1),
    "multi-discrete": spaces.MultiDiscrete([[2, 5], [3, 1]], start=[[0, 7], [1, 0]]),
    "multi-binary": spaces.MultiBinary(3),
    "box": spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32)),
    "number": spaces.Box(-0.4, 0.4, ()),
    "half open": HALF_OPEN,
    "integers": spaces.Box(-3, 200, (4,), np.int16),
    "mixed": MIXED,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def space(request: pytest.FixtureRequest) -> gymnasium.Space[Any]:
    found: gymnasium.Space[Any] = request.param
    return found


def random_actions(spec: ActionSpec, count: int) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(1)
    mask = np.ones((count, spec.mask_size), np.bool_)
    return spec.listed(spec.random_act({}, mask, rng.random((count, spec.width))))


def test_random_actions_are_legal_and_actions_of_the_space(space: gymnasium.Space[Any]) -> None:
    spec = ActionSpec.of(space)
    for action in random_actions(spec, 50):
        assert spec.is_legal(action) and len(action) == spec.width
        assert all(type(part) is int for part in action[: len(spec.choices)])
        assert space.contains(spec.decode(action)), action
    assert spec.outputs == spec.mask_size + len(spec.numbers)
    assert spec.mask_size == spec.free.size == sum(spec.choices)
    assert [part.size for part in spec.split(spec.free)] == list(spec.choices)
    assert spec == ActionSpec.of(space)


def test_columns_hold_actions_exactly(space: gymnasium.Space[Any]) -> None:
    spec = ActionSpec.of(space)
    actions = random_actions(spec, 20)
    column = np.array(actions, spec.dtype)
    assert spec.listed(column) == actions
    assert spec.dtype == (np.float32 if spec.numbers else np.int64)


def test_the_parts_of_a_mixed_action_find_their_places() -> None:
    spec = ActionSpec.of(MIXED)
    assert spec.choices == (3, 2, 2) and len(spec.numbers) == 7
    action = spec.decode((2, 1, 0, -1.0, 0.25, -7.5, -1.0, 9.0, 0.0, 5.0))
    assert action["push"].tolist() == [-2.0, 0.5] and action["push"].dtype == np.float32
    assert action["gear"] == 7
    half_open, binary, whole = action["rest"]
    # Each number of the half-open box is the game's own, and clipped where it has a bound.
    assert half_open.tolist() == [-7.5, 0.0, 3.0] and half_open.dtype == np.float64
    assert binary.tolist() == [[1], [0]]
    # 0 is the middle, 127.5, and 5 lies far outside.
    assert whole.tolist() == [[128, 255]] and whole.dtype == np.uint8


def test_bounds_that_mean_infinity_count_as_none() -> None:
    largest = float(np.finfo(np.float32).max)
    (bounds,) = ActionSpec.of(spaces.Box(-largest, largest, (1,))).numbers
    assert not bounds.scaled and str(bounds) == "any number"
    (bounds,) = ActionSpec.of(spaces.Box(-UNBOUNDED / 2, UNBOUNDED / 2, (1,))).numbers
    assert bounds.scaled


def test_random_numbers_are_uniform_between_bounds_and_else_normal() -> None:
    spec = ActionSpec.of(spaces.Box(np.array([0.0, -INF]), np.array([4.0, INF])))
    drawn = np.array([spec.decode(action) for action in random_actions(spec, 4000)])
    assert kstest(drawn[:, 0], "uniform", args=(0.0, 4.0)).pvalue > 1e-3
    assert kstest(drawn[:, 1], "norm").pvalue > 1e-3
    edges = spec.random_act(
        {}, np.ones((2, 0), np.bool_), np.array([[0.0, 0.0], [1.0 - 2**-53] * 2])
    )
    assert np.isfinite(edges).all()


def test_what_is_not_legal_is_told() -> None:
    spec = ActionSpec.of(spaces.Tuple((spaces.Discrete(3), spaces.Box(-1.0, 1.0, (1,)))))
    mask = np.array([True, False, True])
    assert spec.is_legal((2, 7.5), mask) and spec.is_legal((1, 0.0)) and spec.is_legal((0, 1))
    for action in (
        (1, 0.0),
        (3, 0.0),
        (-1, 0.0),
        (1.0, 0.0),
        (0, math.nan),
        (0, INF),
        (0,),
        (0, 0, 0),
    ):
        assert not spec.is_legal(action, mask), action
    assert str(spec) == "one of 3, a number from -1 to 1"


def test_a_number_in_the_games_unit_becomes_the_part_that_stands_for_it() -> None:
    spec = ActionSpec.of(spaces.Box(np.array([-2.0, 0.0, -INF]), np.array([2.0, 1.0, INF])))
    said = (1.5, 0.25, -3.0)
    action = tuple(bounds.part(one) for bounds, one in zip(spec.numbers, said, strict=True))
    assert action == (0.75, -0.5, -3.0) and spec.decode(action).tolist() == list(said)
    holds = [[bounds.holds(one) for one in (-2.0, 0.5, 2.5, 1e39)] for bounds in spec.numbers]
    assert holds == [[True, True, False, False], [False, True, False, False], [True] * 3 + [False]]


@pytest.mark.parametrize(
    ("space", "problem"),
    [
        (spaces.Text(3), "action space Text is not supported; expected Discrete, .*Box"),
        (spaces.Dict({"word": spaces.Text(3)}), "action space Text is not supported"),
        (spaces.Dict({}), "has no part"),
    ],
)
def test_other_spaces_are_refused(space: gymnasium.Space[Any], problem: str) -> None:
    with pytest.raises(EnvError, match=problem):
        ActionSpec.of(space)


# --- packing --------------------------------------------------------------------------------------

SPECS = [ActionSpec.of(space) for space in KINDS.values()]
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def games(draw: st.DrawFn) -> tuple[GamePacking, list[tuple[int, tuple[Any, ...]]]]:
    """Seats of any kinds, and actions of theirs in any order."""
    specs = draw(st.lists(st.sampled_from(SPECS), min_size=1, max_size=4))
    actions = []
    for seat in draw(st.lists(st.integers(0, len(specs) - 1), max_size=12)):
        choices = (draw(st.integers(0, size - 1)) for size in specs[seat].choices)
        numbers = (draw(FLOATS) for _ in specs[seat].numbers)
        actions.append((seat, (*choices, *numbers)))
    return GamePacking(specs), actions


@given(games())
def test_what_is_packed_is_unpacked(game: tuple[GamePacking, list[Any]]) -> None:
    packing, actions = game
    packed = packing.pack([part for seat, action in actions for part in (seat, *action)])
    assert packing.unpack(packed) == actions
    words = sum(1 + packing.specs[seat].word_count for seat, _ in actions)
    assert len(packed) == 2 * words


def test_choices_are_packed_as_they_ever_were() -> None:
    packing = GamePacking([ActionSpec.of(spaces.MultiDiscrete([300, 3]))] * 2)
    assert packing.pack([0, 258, 2, 1, 3, 0]).hex() == "0000020102000100030000 00".replace(" ", "")


@given(st.binary(max_size=40))
def test_other_bytes_are_no_actions_or_actions_of_these_seats(packed: bytes) -> None:
    packing = GamePacking([ActionSpec.of(KINDS["mixed"]), ActionSpec.of(KINDS["discrete"])])
    try:
        actions = packing.unpack(packed)
    except (IndexError, ValueError):
        return
    for seat, action in actions:
        packing.specs[seat].is_legal(action)
