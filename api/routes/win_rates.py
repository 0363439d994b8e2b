"""Win rates over REST: over frames, by members at a moment, and between two moments.

Their ETag is the league's revision.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Here, made_from_request
from api.http.problems import Problem
from api.routes.bodies import PopulationName
from api.routes.etags import KNOWN, IfNoneMatch, tagged_by_league
from api.routes.win_rate_bodies import MatrixChangesBody, MemberMatrixBody, WinRatesBody
from arena.league.member_matrix import (
    MatrixSide,
    MemberMatrix,
    matrix_change,
    member_matrix,
)
from arena.league.win_rates import RateBlock, win_rates
from arena.stats.differences import ResultChange
from arena.stats.group_results import GroupResult

router = APIRouter(prefix="/v1/populations/{name}/win-rates", tags=["league"])

MOST_FRAMES = 2**53
Recent = Annotated[
    int,
    Query(
        ge=0,
        le=1000,
        description="this many newest snapshots that have played stand for a member; 0: all up to "
        "the moment",
    ),
]
Now = Annotated[
    int | None, Query(ge=0, le=MOST_FRAMES, description="frames of the moment; without it, now")
]


Earlier = Annotated[int, Query(ge=0, le=MOST_FRAMES, description="frames of the earlier moment")]
Against = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00]*$",
        description="the opponent: `others` (all other members), `itself` (its own earlier "
        "snapshots), a member, a scripted player, a guest or a snapshot; without it, `random`, or "
        "another that there is",
    ),
]
BlockFrames = Annotated[
    int | None,
    Query(
        ge=1,
        le=MOST_FRAMES,
        description="width of a block of frames; without it, at most 24 blocks",
    ),
]


@dataclass(kw_only=True)
class WinRateQuestion:
    """A question about the win rates of a population."""

    request: Request
    here: Here
    name: PopulationName
    if_none_match: IfNoneMatch = None

    def answer(self, report: Callable[[], dict[str, Any]]) -> Response:
        return tagged_by_league(
            self.here,
            self.request,
            self.if_none_match,
            lambda: {"population": self.name, **report()},
        )


Asked = Annotated[WinRateQuestion, made_from_request(WinRateQuestion)]


@router.get("", operation_id="getWinRates", response_model=WinRatesBody, responses=KNOWN)
def rates(
    asked: Asked,
    against: Against = None,
    block_frames: BlockFrames = None,
) -> Response:
    """Win rates of each member against one opponent over frames, from the games that count.

    The snapshots of a member are put into blocks of frames. Where margins or returns count, the
    values are mean margins or mean returns.
    """

    def report() -> dict[str, Any]:
        found = win_rates(asked.here.league, asked.name, against, block_frames)
        return {
            "objective": found.objective,
            "against": None if found.against is None else asdict(found.against),
            "block_frames": found.block_frames,
            "opponents": [asdict(one) for one in found.opponents],
            "members": [
                {
                    "member": member.name,
                    "role": member.role,
                    "blocks": [_block_report(block) for block in blocks],
                }
                for member, blocks in found.members
            ],
        }

    return asked.answer(report)


@router.get(
    "/matrix", operation_id="getMemberMatrix", response_model=MemberMatrixBody, responses=KNOWN
)
def matrix(asked: Asked, frames: Now = None, recent: Recent = 1) -> Response:
    """The matrix of the members, each as its newest snapshot, now or at an earlier moment.

    Where returns count, the values are mean returns of the player beside the opponent.
    """

    def report() -> dict[str, Any]:
        newest, found = member_matrix(asked.here.league, asked.name, frames, recent)
        sides = found.sides
        return {
            "objective": found.objective,
            "frames": found.frames,
            "newest_frames": newest,
            "recent": recent,
            "sides": _sides(found),
            "pairs": [{**_names(sides, one), **_rate_report(one)} for one in found.results],
            "cycles": [{"players": [one.a, one.b, one.c], "p": one.p} for one in found.cycles],
        }

    return asked.answer(report)


@router.get(
    "/changes", operation_id="getMatrixChanges", response_model=MatrixChangesBody, responses=KNOWN
)
def matrix_changes(
    asked: Asked,
    first: Earlier,
    last: Now = None,
    recent: Recent = 1,
) -> Response:
    """Against which opponents each member improved between two moments, and where that is sure.

    Both are as they were at the moment. The columns of players that do not learn, such as
    `random`, show how much a member improved by itself.
    """
    if last is not None and last <= first:
        raise Problem(
            "invalid",
            f"last = {last}: not after first = {first}",
            [("last", "not after first")],
        )

    def report() -> dict[str, Any]:
        newest, found = matrix_change(asked.here.league, asked.name, first, last, recent)
        sides = found.after.sides
        return {
            "objective": found.after.objective,
            "first": found.before.frames,
            "last": found.after.frames,
            "newest_frames": newest,
            "recent": recent,
            "sides": _sides(found.after),
            "pairs": [{**_names(sides, one.after), **_change_report(one)} for one in found.changes],
        }

    return asked.answer(report)


def _rate_report(one: GroupResult) -> dict[str, Any]:
    """The values of a `WinRateBody`."""
    tally = dict.fromkeys(("wins", "draws", "losses")) if one.tally is None else asdict(one.tally)
    return {"games": one.games, **tally, "value": one.value, "low": one.low, "high": one.high}


def _change_report(one: ResultChange) -> dict[str, Any]:
    return {
        "before": _rate_report(one.before),
        "after": _rate_report(one.after),
        "difference": one.difference,
        "low": one.low,
        "high": one.high,
        "sure": one.sure,
    }


def _block_report(block: RateBlock) -> dict[str, Any]:
    return {
        "first": block.first,
        "last": block.last,
        "frames": block.frames,
        "snapshots": block.snapshots,
        **_rate_report(block.result),
    }


def _names(sides: Sequence[MatrixSide], one: GroupResult) -> dict[str, str]:
    return {"player": sides[one.row].name, "opponent": sides[one.column].name}


def _sides(matrix: MemberMatrix) -> list[dict[str, Any]]:
    return [
        _side_report(side, strength)
        for side, strength in zip(matrix.sides, matrix.strengths, strict=True)
    ]


def _side_report(side: MatrixSide, strength: float) -> dict[str, Any]:
    newest = side.snapshots[-1] if side.snapshots else None
    return {
        "name": side.name,
        "kind": side.kind,
        "role": side.role,
        "label": side.name if newest is None else newest.label,
        "snapshots": [stored.record.snapshot_id for stored in side.snapshots],
        "frames": None if newest is None else newest.record.frames,
        "strength": strength if isfinite(strength) else None,
    }
