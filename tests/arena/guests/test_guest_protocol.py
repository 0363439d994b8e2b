"""The messages to guests, and how their answers are read."""

import json
import re

import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray

from arena.guests.protocol import GuestFault, hello, line, question, read_action, read_ready
from pbt.envs.actions import ActionSpec
from pbt.envs.spaces import ObservationCodec
from pbt.errors import EnvError

Asked = tuple[ActionSpec, NDArray[np.bool_]]
SEVEN: Asked = ActionSpec.of(spaces.Discrete(7)), np.array([1, 1, 0, 1, 0, 0, 1], np.bool_)
TWO: Asked = ActionSpec.of(spaces.MultiDiscrete([3, 2])), np.array([0, 1, 1, 1, 0], np.bool_)
FIFTY: Asked = ActionSpec.of(spaces.Discrete(50)), np.ones(50, np.bool_)
BOUNDED = spaces.Box(-2.0, 2.0, (1,))
ONE: Asked = ActionSpec.of(BOUNDED), np.ones(0, np.bool_)
MIXED: Asked = (
    ActionSpec.of(spaces.Tuple((spaces.Box(-np.inf, np.inf, (1,)), BOUNDED, spaces.Discrete(2)))),
    np.ones(2, np.bool_),
)

ANSWERS: dict[str, tuple[bytes, Asked, tuple[float, ...]]] = {
    "a number": (b'{"action": 3}', SEVEN, (3,)),
    "a list of one": (b'{"action": [6]}\r', SEVEN, (6,)),
    "more than asked": (b'{"action": 0, "thoughts": [1.5, null]}', SEVEN, (0,)),
    "two choices": (b' {"action":[2,0]} ', TWO, (2, 0)),
    "one number": (b'{"action": 1.5}', ONE, (0.75,)),
    "a whole number": (b'{"action": [-2]}', ONE, (-1.0,)),
    "a choice and numbers": (b'{"action": [1, -7.5, 0]}', MIXED, (1, -7.5, 0.0)),
}
FAULTS: dict[str, tuple[bytes, Asked, str]] = {
    "empty": (
        b"",
        SEVEN,
        "said ''; expected one line with {.action.: N}, where N is one of 0, 1, 3, 6$",
    ),
    "no object": (
        b"[3]",
        SEVEN,
        r"said '\[3\]'; expected one line with \{\"action\": N\}, where N is one of 0, 1, 3, 6$",
    ),
    "no action": (
        b'{"move": 3}',
        SEVEN,
        (
            r"said '\{\"move\": 3\}'; expected one line with \{\"action\": N\}, where N is one "
            r"of 0, 1, 3, 6$"
        ),
    ),
    "a word": (b'{"action": "3"}', SEVEN, "{.action.: N}, where N is one of 0, 1, 3, 6$"),
    "a fraction": (b'{"action": 3.0}', SEVEN, "{.action.: N}, where N is one of 0, 1, 3, 6$"),
    "true": (b'{"action": true}', SEVEN, "{.action.: N}, where N is one of 0, 1, 3, 6$"),
    "two for one": (b'{"action": [1, 3]}', SEVEN, "{.action.: N}, where N is one of 0, 1, 3, 6$"),
    "one for two": (
        b'{"action": 1}',
        TWO,
        (
            r"expected one line with \{\"action\": \[N, N\]\}, where N is, in this order, one of "
            r"1, 2; one of 0$"
        ),
    ),
    "outside": (
        b'{"action": 7}',
        SEVEN,
        "7 is not legal; expected {.action.: N}, where N is one of 0, 1, 3, 6$",
    ),
    "negative": (b'{"action": -1}', SEVEN, "-1 is not legal; expected .*one of 0, 1, 3, 6$"),
    "masked": (b'{"action": 2}', SEVEN, "2 is not legal; expected .*one of 0, 1, 3, 6$"),
    "the second of two": (
        b'{"action": [1, 1]}',
        TWO,
        "1 is not legal; expected .*, one of 1, 2; one of 0$",
    ),
    "very large": (b'{"action": 1' + b"0" * 5000 + b"}", SEVEN, r"\.\.\. \(\d+ bytes\); expected"),
    "no text": (b"\xff\xfe garbage", SEVEN, "byte 0 of the line, 0xff, is not UTF-8"),
    "utf-16": ('{"action": 0}'.encode("utf-16"), SEVEN, "byte 0 of the line, 0xff, is not UTF-8"),
    "deep": (
        b"[" * 60_000,
        SEVEN,
        r"said '\[+'\.\.\. \(60000 bytes\); expected one line with {.action.: N}",
    ),
    "latin-1": (
        b'{"action": 0, "note": "\xb7"}',
        SEVEN,
        r"byte 23 of the line, 0xb7, is not UTF-8; expected text in UTF-8",
    ),
    "many choices": (b'{"action": 99}', FIFTY, "one of 0, .*, 19 and 30 more"),
    "a number too large": (
        b'{"action": 2.5}',
        ONE,
        (
            "2.5 is not a number from -2 to 2; expected {.action.: X}, where X is a number from "
            "-2 to 2$"
        ),
    ),
    "no number": (b'{"action": NaN}', ONE, "nan is not a number from -2 to 2; expected"),
    "infinity": (b'{"action": [0, -1e999, 0]}', MIXED, "-inf is not any number; expected"),
    "a word for a number": (b'{"action": "1"}', ONE, "expected one line with {.action.: X}"),
    "true for a number": (b'{"action": true}', ONE, "expected one line with {.action.: X}"),
    "numbers without the choice": (
        b'{"action": [0.5, 0.5]}',
        MIXED,
        (
            r"expected one line with \{\"action\": \[N, X, X\]\}, where N is one of 0, 1 and X "
            "is, in this order, any number; a number from -2 to 2$"
        ),
    ),
    "a fraction for the choice": (b'{"action": [0.5, 0, 0]}', MIXED, "expected one line with"),
}


@pytest.mark.parametrize(("said", "asked", "action"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answers_are_read(said: bytes, asked: Asked, action: tuple[float, ...]) -> None:
    assert read_action(said, *asked) == action


@pytest.mark.parametrize(("said", "asked", "fault"), FAULTS.values(), ids=FAULTS.keys())
def test_faults_say_what_was_said_and_what_was_expected(
    said: bytes, asked: Asked, fault: str
) -> None:
    with pytest.raises(GuestFault, match=fault) as raised:
        read_action(said, *asked)
    assert len(str(raised.value)) < 400 and str(raised.value).isprintable()


def test_only_version_1_is_spoken() -> None:
    read_ready(b'{"protocol": 1, "name": "x"}')
    for said in (b"{}", b'{"protocol": 2}', b'{"protocol": "1"}', b"hello"):
        with pytest.raises(
            GuestFault, match=re.escape('expected one line with {"protocol": 1} in answer to hello')
        ):
            read_ready(said)


def test_a_question_holds_nested_lists_numbers_and_names() -> None:
    leaves = ObservationCodec(
        spaces.Dict({"card": spaces.Discrete(3), "grid": spaces.Box(0, 1, (2, 2), np.float32)})
    ).leaves
    seen = {"card": np.array([2]), "grid": np.array([[0.5, 1.0], [0.0, 0.25]], np.float32)}
    assert question(4, leaves, seen, *TWO) == {
        "type": "act",
        "move": 4,
        "observation": {"card": 2, "grid": [[0.5, 1.0], [0.0, 0.25]]},
        "mask": [[0, 1, 1], [1, 0]],
        "legal": [[1, 2], [0]],
    }
    (alone,) = ObservationCodec(spaces.Discrete(3)).leaves
    asked = question(0, (alone,), {"observation": np.array([1])}, *SEVEN)
    assert (asked["observation"], asked["mask"], asked["legal"]) == (
        1,
        [1, 1, 0, 1, 0, 0, 1],
        [0, 1, 3, 6],
    )
    assert json.loads(line(asked)) == asked and line(asked).count(b"\n") == 1
    asked = question(0, (alone,), {"observation": np.array([1])}, *MIXED)
    assert (asked["mask"], asked["legal"]) == ([[1, 1]], [[0, 1]])
    asked = question(0, (alone,), {"observation": np.array([1])}, *ONE)
    assert (asked["mask"], asked["legal"]) == ([], [])


def test_hello_tells_the_bounds_of_numbers() -> None:
    told = hello("x", {}, "player", 1, (), MIXED[0], 1.0)
    assert told["choices"] == [2]
    assert told["numbers"] == [{"low": None, "high": None}, {"low": -2.0, "high": 2.0}]


def test_what_json_lacks_is_the_games_fault() -> None:
    with pytest.raises(EnvError, match="the game's observation holds nan or infinity"):
        line({"observation": [float("nan")]})
