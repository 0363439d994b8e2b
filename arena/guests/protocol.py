"""The messages between a match and a guest, one JSON object per line, as pure functions.

The protocol is described in docs/guests.md.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Action
from pbt.envs.spaces import Leaf
from pbt.errors import EnvError

PROTOCOL = 1
MAX_LINE_BYTES = 65_536
_SHOWN = 200
# A message names the meaning of so many parts of an action.
_PARTS = 8


class GuestFault(Exception):
    """A guest's mistake. Its message says what was found and what was expected."""


def line(message: Mapping[str, Any]) -> bytes:
    """A message as a line. Raises: EnvError for nan and infinity, which JSON does not have."""
    try:
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except ValueError as error:
        raise EnvError(
            f"the game's observation holds nan or infinity ({error}), which JSON cannot carry "
            "to a guest; expected finite numbers"
        ) from error


def hello(
    env: str,
    options: Mapping[str, Any],
    role: str,
    seats: int,
    leaves: Sequence[Leaf],
    actions: ActionSpec,
    timeout_s: float,
) -> dict[str, Any]:
    """The first message to a process, which answers {"protocol": 1}."""
    return {
        "type": "hello",
        "protocol": PROTOCOL,
        "env": env,
        "env_options": dict(options),
        "role": role,
        "seats": seats,
        "observation": {
            leaf.name: {"shape": list(leaf.shape), "dtype": str(leaf.dtype)} for leaf in leaves
        },
        "choices": list(actions.choices),
        "numbers": [
            {"low": _finite(bounds.low), "high": _finite(bounds.high)} for bounds in actions.numbers
        ],
        "move_timeout_s": timeout_s,
    }


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None


def question(
    move: int,
    leaves: Sequence[Leaf],
    observation: Mapping[str, NDArray[Any]],
    actions: ActionSpec,
    mask: NDArray[np.bool_],
) -> dict[str, Any]:
    """The message that asks for an action. A single leaf or choice stands without a list around it.

    move         number of the move
    leaves       the parts of the observation
    observation  leaf name -> array of the leaf's shape
    actions      what an action is
    mask         of the move
    """
    masks = actions.split(mask)
    plain = {leaf.name: _plain(leaf, observation[leaf.name]) for leaf in leaves}
    shown_mask, legal = (
        [part.astype(int).tolist() for part in masks],
        [np.flatnonzero(part).tolist() for part in masks],
    )
    alone = actions.single_choice
    return {
        "type": "act",
        "move": move,
        "observation": plain["observation"] if list(plain) == ["observation"] else plain,
        "mask": shown_mask[0] if alone else shown_mask,
        "legal": legal[0] if alone else legal,
    }


def _plain(leaf: Leaf, value: NDArray[Any]) -> Any:
    """The array as nested lists; a single choice as a number."""
    return int(value[0]) if leaf.kind == "onehot" and leaf.shape == (1,) else value.tolist()


def read_ready(said: bytes) -> None:
    """Reads the answer to hello. Raises: GuestFault unless it names this protocol."""
    if _object(said).get("protocol") != PROTOCOL:
        raise GuestFault(
            f'said {shown(said)}; expected one line with {{"protocol": {PROTOCOL}}} in '
            "answer to hello"
        )


def read_action(said: bytes, actions: ActionSpec, mask: NDArray[np.bool_]) -> Action:
    """Reads an action. mask: of the move. Raises: GuestFault unless it is a legal action."""
    action = _object(said).get("action")
    parts = action if isinstance(action, list) else [action]
    masks = actions.split(mask)
    choices, numbers = parts[: len(masks)], parts[len(masks) :]
    if (
        len(parts) != actions.width
        or any(type(choice) is not int for choice in choices)
        or any(type(number) not in (int, float) for number in numbers)
    ):
        raise GuestFault(f"said {shown(said)}; expected one line with {_expected(actions, masks)}")
    for choice, part in zip(choices, masks, strict=True):
        if not 0 <= choice < len(part) or not part[choice]:
            raise GuestFault(
                f"said {shown(said)}; {choice} is not legal; expected {_expected(actions, masks)}"
            )
    for number, bounds in zip(numbers, actions.numbers, strict=True):
        if not bounds.holds(number):
            raise GuestFault(
                f"said {shown(said)}; {number!r:.20} is not {bounds}; expected "
                f"{_expected(actions, masks)}"
            )
    pairs = zip(numbers, actions.numbers, strict=True)
    return (*choices, *(bounds.part(number) for number, bounds in pairs))


def _expected(actions: ActionSpec, masks: Sequence[NDArray[np.bool_]]) -> str:
    """The form of an answer and what is legal, for a message."""
    legal = [_few(np.flatnonzero(mask).tolist()) for mask in masks]
    parts = ["N"] * len(masks) + ["X"] * len(actions.numbers)
    form = parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
    meanings = [("N", [f"one of {some}" for some in legal]), ("X", list(map(str, actions.numbers)))]
    told = " and ".join(_each(sign, each) for sign, each in meanings if each)
    return f'{{"action": {form}}}, where {told}'


def _each(sign: str, meanings: Sequence[str]) -> str:
    """What a sign of an answer's form stands for, one meaning for each place where it stands."""
    order = ", in this order," if len(meanings) > 1 else ""
    return f"{sign} is{order} {'; '.join(meanings[:_PARTS])}" + "; ..." * (len(meanings) > _PARTS)


def _object(said: bytes) -> dict[str, Any]:
    """The JSON object in these bytes; {} where there is none. Raises: GuestFault: no UTF-8."""
    try:
        # Of bytes, JSON's reader would guess UTF-16 too. Some writers begin with a byte order mark.
        parsed = json.loads(said.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise GuestFault(
            f"said {shown(said)}; byte {error.start} of the line, {byte:#04x}, is not UTF-8; "
            "expected text in UTF-8, as JSON is"
        ) from None
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else {}


def shown(said: bytes) -> str:
    """The beginning of an answer, printable."""
    text = ascii(said[:_SHOWN].decode(errors="replace").rstrip("\r\n"))
    return text if len(said) <= _SHOWN else f"{text}... ({len(said)} bytes)"


def _few(choices: Sequence[int]) -> str:
    return ", ".join(map(str, choices[:20])) + f" and {len(choices) - 20} more" * (
        len(choices) > 20
    )
