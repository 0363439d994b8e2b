"""The work that a request to the service may ask for, by its kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from arena.league.job_requests import JobKind
from pbt.objective import ObjectiveKind


@dataclass(frozen=True, slots=True)
class RequestedVerification:
    """As `arena verify`.

    name    a population, `match:12`, or `imported`
    head    a head of its chain that was published elsewhere, or its beginning; None: none
    replay  how many games are played again; None: all
    """

    name: str
    head: str | None
    replay: int | None


@dataclass(frozen=True, slots=True)
class RequestedTournament:
    """As `arena tournament`.

    players    their names
    env        the game, where no player is a snapshot
    games      of each match
    rounds     how many round robins
    seed       of the first round
    objective  what decides between the players; None: as for a match
    """

    players: tuple[str, ...]
    env: str | None
    games: int
    rounds: int
    seed: int
    objective: ObjectiveKind | None


@dataclass(frozen=True, slots=True)
class RequestedReturns:
    """As `arena evaluate`.

    players    their names; the others are measured beside the first
    env        the game, where no player is a snapshot
    episodes   of each player
    seed       of the episodes
    greedy     whether players take the most likely action
    objective  with "return", a player takes all its seats at once; None: as for a match
    """

    players: tuple[str, ...]
    env: str | None
    episodes: int
    seed: int
    greedy: bool
    objective: ObjectiveKind | None


@dataclass(frozen=True, slots=True)
class RequestedComparison:
    """As `arena compare`.

    name    of the comparison
    a, b    the two configs, as tables
    frames  that each member trains
    seeds   number of trainings of each config
    games   between each training of A and each of B, at least
    """

    name: str
    a: dict[str, Any]
    b: dict[str, Any]
    frames: int
    seeds: int
    games: int


Work = RequestedVerification | RequestedTournament | RequestedReturns | RequestedComparison
KINDS: Mapping[str, type[Work]] = {
    "verification": RequestedVerification,
    "tournament": RequestedTournament,
    "returns": RequestedReturns,
    "comparison": RequestedComparison,
}


def requested_work(kind: JobKind, asked: Mapping[str, Any]) -> Work:
    """What was asked for. Raises: msgspec.ValidationError for a request of another shape."""
    return msgspec.convert(asked, KINDS[kind])
