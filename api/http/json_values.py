"""A check of values of any shape in requests: only what JSON can store may pass. Pure."""

import math
from typing import Any

MAX_DEPTH = 20


def plain(value: Any) -> Any:
    """The value itself. Raises: ValueError for one that JSON does not have, or that nests too deep.

    JSON does not have nan, infinities and half a surrogate pair.
    """
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} deep")
        if isinstance(part, dict):
            waiting += [(inner, depth + 1) for entry in part.items() for inner in entry]
        elif isinstance(part, list):
            waiting += [(inner, depth + 1) for inner in part]
        elif isinstance(part, float) and not math.isfinite(part):
            raise ValueError(f"{part} is no JSON number")
        elif isinstance(part, str) and any("\ud800" <= letter <= "\udfff" for letter in part):
            raise ValueError("a text with half of a surrogate pair")
    return value
