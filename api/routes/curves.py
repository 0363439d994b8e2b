"""Training curves of a population over frames, reduced to few points for drawing."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.context import Here
from api.http.json_response import json_bytes
from api.http.problems import Problem
from api.routes.bodies import Member, PopulationName
from api.routes.etags import KNOWN, IfNoneMatch, tagged
from api.routes.series import decimate
from arena.data.curves import Points, curves_stamp
from arena.league.populations import find_population

router = APIRouter(prefix="/v1/populations/{name}", tags=["members"])

NOT_AT_FIRST = ("frames_per_s", "lag_mean")
"""Curves that every training gets, but not with its first point."""


class Curve(BaseModel):
    """One curve of a member.

    frames   of the member's clock
    values   one for each of `frames`; a value that was not finite is null
    seconds  one for each of `frames`: how long its trainers had run; only if `times` asked for it
    """

    frames: list[int]
    values: list[float | None]
    seconds: list[float] | None = None


class Curves(BaseModel):
    """The curves of a population.

    members  member -> name of the curve -> curve
    keys     the names of all curves that exist
    """

    members: dict[str, dict[str, Curve]]
    keys: list[str]


Keys = Annotated[
    str | None,
    Query(max_length=2000, description="names of curves with commas between; without it, all"),
]
First = Annotated[int, Query(ge=0, description="from this number of frames on")]
Last = Annotated[int | None, Query(ge=0, description="up to this number of frames")]
MostPoints = Annotated[
    int,
    Query(
        ge=4,
        le=10_000,
        description="at most this many points of each curve; lows and highs are kept",
    ),
]
Times = Annotated[
    bool, Query(description="also the seconds of training at each point, without breaks")
]


@router.get("/metrics", operation_id="getCurves", response_model=Curves, responses=KNOWN)
def curves(
    here: Here,
    name: PopulationName,
    keys: Keys = None,
    member: Member = None,
    first: First = 0,
    last: Last = None,
    points: MostPoints = 500,
    times: Times = False,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Training curves over frames. The ETag stands for what was written so far."""
    _check_range(first, last)
    with here.league.read() as connection:
        find_population(connection, name)
    folder = here.paths(name).metrics

    def body() -> bytes:
        chosen = None if keys is None else set(keys.split(","))
        existing, points_of = here.curves.read(
            folder, chosen, None if member is None else [member], first, last
        )
        _refuse_unknown(chosen, existing)
        curves_of = {
            each: {
                key: to_curve(curve, points, times)
                for key, curve in named.items()
                if len(curve.frames)
            }
            for each, named in points_of.items()
        }
        return json_bytes(
            {
                "members": {each: named for each, named in curves_of.items() if named},
                "keys": existing,
            }
        )

    return tagged(curves_stamp(folder), if_none_match, body)


def _refuse_unknown(chosen: set[str] | None, existing: Sequence[str]) -> None:
    """Raises: Problem for names of curves that do not exist, once there are curves."""
    known = {"", *existing, *NOT_AT_FIRST}
    unknown = sorted((chosen or set()) - known) if existing else []
    if unknown:
        raise Problem(
            "invalid",
            f"no curves {', '.join(unknown)}; there are: {', '.join(existing)}",
            [("keys", f"{name}: no such curve") for name in unknown],
        )


def _check_range(first: int, last: int | None) -> None:
    """Raises: Problem for a range that ends before it begins."""
    if last is not None and last < first:
        raise Problem(
            "invalid",
            f"last = {last}: smaller than first = {first}",
            [("last", "smaller than first")],
        )


def to_curve(curve: Points, points: int, times: bool) -> dict[str, list[float]]:
    """The values of a `Curve`. NaN becomes null in JSON."""
    kept = decimate(curve.values, points)
    body = {"frames": curve.frames[kept].tolist(), "values": curve.values[kept].tolist()}
    return {**body, "seconds": curve.seconds[kept].round(1).tolist()} if times else body
