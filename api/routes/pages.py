"""Pages of lists: where the next one begins, and what of a list is shown.

A cursor holds the place of the last item that was shown, so a page stays the same whatever is added
before it. Clients give it back as it came.
"""

import base64
import json
import math
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query

from api.http.problems import Problem

LARGEST = 2**63 - 1

Limit = Annotated[int, Query(ge=1, le=500, description="at most this many items")]
LongLimit = Annotated[int, Query(ge=1, le=5000, description="at most this many items")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=400,
        description="`next` of the page before, with the same other parameters; without it, the "
        "first page",
    ),
]
Since = Annotated[
    float | None, Query(ge=0, description="only what was made then or later, in seconds since 1970")
]
Until = Annotated[
    float | None, Query(ge=0, description="only what was made before then, in seconds since 1970")
]


def write_cursor(of: str, place: Sequence[Any] | None) -> str | None:
    """The cursor of a place in a list; None for no place: the list has ended.

    of     name of the list and of its order; a cursor is of no other one
    place  what the items are ordered by, of the last one that was shown
    """
    if place is None:
        return None
    return base64.urlsafe_b64encode(json.dumps([of, *place]).encode()).decode().rstrip("=")


def read_cursor(of: str, cursor: str | None, *kinds: type) -> list[Any] | None:
    """The place of a cursor; None without one.

    kinds  the type of each value of the place
    Raises: Problem for a cursor that this service did not make for this list in this order.
    """
    if cursor is None:
        return None
    try:
        found = json.loads(
            base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        )
    except ValueError:
        found = None
    if not isinstance(found, list) or not found or not isinstance(found[0], str):
        raise _refused("this service did not make it")
    name, *place = found
    if name != of:
        raise _refused("it is of another list or another order")
    if [type(value) for value in place] != list(kinds) or not all(map(_storable, place)):
        raise _refused("this service did not make it")
    return place


def _storable(value: Any) -> bool:
    """Whether the league can compare its rows with the value."""
    match value:
        case str():
            return not any("\ud800" <= letter <= "\udfff" for letter in value)
        case int():
            return abs(value) <= LARGEST
        case float():
            return math.isfinite(value)
    return False


def _refused(why: str) -> Problem:
    return Problem("invalid", f"cursor: {why}; leave it out to begin anew", [("cursor", why)])
