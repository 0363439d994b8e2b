"""Values of any shape that a request may carry, held to what can be stored and told again. Pure."""

import math
from typing import Any

MAX_DEPTH = 20


def plain(value: Any) -> Any:
    """The value itself. Raises: ValueError for what JSON cannot say, or nests too deep: nan,
    infinities, half of a surrogate pair.
    """
    waiting = [(value, 0)]
    while waiting:
        found, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} deep")
        if isinstance(found, dict):
            waiting += [(part, depth + 1) for entry in found.items() for part in entry]
        elif isinstance(found, list):
            waiting += [(part, depth + 1) for part in found]
        elif isinstance(found, float) and not math.isfinite(found):
            raise ValueError(f"{found} is no JSON number")
        elif isinstance(found, str) and any("\ud800" <= letter <= "\udfff" for letter in found):
            raise ValueError("a text with half of a surrogate pair")
    return value
