"""Which numbers of a game can be learned from: one rule for `arena env check` and for training.

A number of an observation, and a reward, must be finite and at most LARGEST in magnitude. Other
numbers void the game in which they come, and the second such game ends the training. Numbers of
another type than the network's are cast, with a warning, as long as the cast changes no number but
for the rounding to float32.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.spaces import Leaf

LARGEST = 1e9
"""Networks compute in float32. The squared norm of the gradient of a squared error grows with the
fourth power of an input, and float32 ends at 3.4e38."""


# Every number of these types can be learned from; looking at each takes long in a large image.
_ALWAYS_USABLE = tuple(map(np.dtype, (np.bool_, np.int8, np.uint8, np.int16, np.uint16)))


def _expected(largest: float) -> str:
    return f"expected finite numbers from {-largest:g} to {largest:g}"


_ENCODE = "clip or scale it, or give what it means an entry of its own, such as a flag"


def leaf_problem(leaf: Leaf, part: Any) -> str | None:
    """Why a leaf's part of an observation cannot be learned from; None: it can.

    part  of the leaf's shape, in any type of numbers
    """
    given = np.asarray(part)
    if given.dtype.kind not in "biuf":
        return f"observation leaf {leaf.name} is of type {given.dtype}; expected numbers"
    if leaf.kind == "box" and given.dtype == leaf.dtype and given.dtype in _ALWAYS_USABLE:
        return None
    bad, expected = _bad_places(leaf, given)
    if not bad.any():
        return None
    first, count = np.argwhere(bad)[0], int(np.count_nonzero(bad))
    at = f" at {first.tolist()}" if given.size > 1 else ""
    more = f" (one of {count} such numbers)" if count > 1 else ""
    value = given[tuple(first)].item()
    return f"observation leaf {leaf.name} is {value!r}{at}{more}; {expected}; {_ENCODE}"


def _bad_places(leaf: Leaf, given: NDArray[Any]) -> tuple[NDArray[np.bool_], str]:
    """(where the numbers cannot be used, what was expected)."""
    if leaf.kind == "onehot":
        flat = given.reshape(-1)
        sizes = np.array(leaf.sizes)
        inside = (flat >= 0) & (flat < sizes) & (flat == np.floor(flat))
        shown = ", ".join(dict.fromkeys(str(size - 1) for size in leaf.sizes))
        return ~inside.reshape(given.shape), f"expected whole numbers from 0 to {shown}"
    largest = min(LARGEST, float(np.finfo(leaf.dtype).max)) if leaf.dtype.kind == "f" else LARGEST
    # Written so that nan is refused as well.
    within = np.abs(given.astype(np.float64)) <= largest
    if leaf.dtype.kind == "f":
        return ~within, _expected(largest)
    with np.errstate(invalid="ignore"):
        kept = given.astype(leaf.dtype) == given
    return ~(within & kept), f"{_expected(LARGEST)} that {leaf.dtype} holds"


def cast_warning(leaf: Leaf, part: Any) -> str | None:
    """What is said about a type of numbers that is cast; None where the cast is exact."""
    given = np.asarray(part)
    if leaf.kind == "onehot" or np.can_cast(given.dtype, leaf.dtype):
        return None
    return f"observation leaf {leaf.name} comes as {given.dtype} and is cast to {leaf.dtype}"


def rewards_problem(terms: Sequence[str], rewards: Sequence[float]) -> str | None:
    """Why the rewards of a turn cannot be learned from; None: they can. terms: their names."""
    # Every turn of every game is looked at, and most without `zip`, which takes six times as long.
    # Comparisons are written so that nan is refused as well.
    if len(rewards) == len(terms):
        for reward in rewards:
            if not -LARGEST <= reward <= LARGEST:
                break
        else:
            return None
    for term, reward in zip(terms, rewards, strict=True):
        if not -LARGEST <= reward <= LARGEST:
            return f"{term} is {float(reward)!r}; {_expected(LARGEST)}; scale the game's rewards"
    return None
