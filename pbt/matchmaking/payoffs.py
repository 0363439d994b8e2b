"""What live members may expect against each frozen opponent: the two fillings of the port
PayoffSource. Driven by counts of games alone.

The newest hundred games or so weigh most, because a member changes while it learns: 1 / (1 -
FORGET) games of counts, about as many of ratings.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, Protocol

from pbt.config.schema import MatchmakingConfig
from pbt.matchmaking.past import WinRates
from pbt.matchmaking.seats import SnapshotEntry
from pbt.records import GameRecord, PlayerRef, SeatRecord, is_voided
from pbt.transport.messages import JsonState

FORGET = 0.99
# One game won and one lost before the first: a rate is never 0 or 1, and 1/2 without games.
PRIOR_GAMES = 2.0
# Elo points that a certain win against an equal is worth, twice over.
ELO_STEP = 8.0


class PayoffSource(Protocol):
    """What members may expect against the past, from the games they played: for the modes of
    matchmaking that ask for it.

    kind: what a checkpoint calls it
    """

    @property
    def kind(self) -> str: ...

    def add(self, record: GameRecord) -> bool:
        """A game ended; whether it counted."""

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        """There is a new opponent; those that have left the window are forgotten."""

    def copied(self, member: str, donor: str, generation: int) -> None:
        """The member plays with the donor's weights from this generation on, so what is known of
        the donor is known of it.
        """

    def win_rates(self) -> WinRates:
        """Against each snapshot of the window: expected scores in [0, 1], never nan. Pairs
        without a game may be missing.
        """

    def state(self) -> JsonState: ...

    def load(self, state: JsonState) -> None:
        """Take over what `state` returned."""


def payoff_source(config: MatchmakingConfig) -> PayoffSource | None:
    """The one that the mode asks for; None: it asks for none."""
    match config.past_mode:
        case "pfsp_hard" | "pfsp_variance":
            return RecentWinRates(config.past_window)
        case "elo_gaussian":
            return EloRatings(config.past_window)
        case _:
            return None


class Meeting(NamedTuple):
    """A live member and another player of one game. points: of the member, 1 ahead of it, 1/2
    level, 0 behind.
    """

    member: str
    opponent: PlayerRef
    points: float


class _Meetings:
    """What both need: the candidates there are, and whose games count."""

    def __init__(self, window: int) -> None:
        self._window = window
        # role -> newest last
        self._candidates: dict[str, deque[str]] = {}
        self._generations: dict[str, int] = {}

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        self._candidates.setdefault(entry.role, deque(maxlen=self._window)).append(
            entry.snapshot_id
        )

    def copied(self, member: str, donor: str, generation: int) -> None:
        self._generations[member] = generation

    def known(self) -> list[str]:
        """Every snapshot that the past may send, each once."""
        return list(
            dict.fromkeys(
                snapshot_id
                for candidates in self._candidates.values()
                for snapshot_id in candidates
            )
        )

    def meetings(self, record: GameRecord) -> Iterator[Meeting]:
        """Of a training game: each live member that began it with its present weights, with
        every other player. Its own seats do not meet.
        """
        if record.kind != "training" or is_voided(record.end_reason):
            return
        for own in record.seats:
            if own.player.kind == "member" and own.generation == self._generations.get(
                own.player.name, 0
            ):
                for other in record.seats:
                    if other.player != own.player:
                        yield Meeting(own.player.name, other.player, _points(own, other))

    def _saved(self) -> JsonState:
        return {
            "candidates": {role: list(found) for role, found in self._candidates.items()},
            "generations": dict(self._generations),
        }

    def _take_over(self, state: Mapping[str, JsonState]) -> None:
        self._candidates = {
            role: deque(found, maxlen=self._window) for role, found in state["candidates"].items()
        }
        self._generations = dict(state["generations"])


def _points(own: SeatRecord, other: SeatRecord) -> float:
    return 0.5 * (1 + (own.place < other.place) - (own.place > other.place))


class RecentWinRates(_Meetings):
    """Win rates of each member against each candidate it met, draws half, older games forgotten:
    for prioritized fictitious self-play.
    """

    kind: Literal["counts"] = "counts"

    def __init__(self, window: int) -> None:
        super().__init__(window)
        # snapshot -> member -> [points, games]
        self._cells: dict[str, dict[str, list[float]]] = {}

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        super().add_snapshot(entry)
        known = set(self.known())
        self._cells = {
            snapshot_id: cells for snapshot_id, cells in self._cells.items() if snapshot_id in known
        }

    def add(self, record: GameRecord) -> bool:
        known, counted = self.known(), False
        for member, opponent, points in self.meetings(record):
            if opponent.kind == "snapshot" and opponent.name in known:
                cell = self._cells.setdefault(opponent.name, {}).setdefault(member, [0.0, 0.0])
                cell[:] = [cell[0] * FORGET + points, cell[1] * FORGET + 1.0]
                counted = True
        return counted

    def copied(self, member: str, donor: str, generation: int) -> None:
        super().copied(member, donor, generation)
        for cells in self._cells.values():
            cells.pop(member, None)
            if donor in cells:
                cells[member] = list(cells[donor])

    def win_rates(self) -> WinRates:
        return {
            snapshot_id: {
                member: (points + PRIOR_GAMES / 2) / (games + PRIOR_GAMES)
                for member, (points, games) in cells.items()
            }
            for snapshot_id, cells in self._cells.items()
        }

    def state(self) -> JsonState:
        return {
            "cells": {
                name: {member: list(cell) for member, cell in cells.items()}
                for name, cells in self._cells.items()
            },
            **self._saved(),
        }

    def load(self, state: JsonState) -> None:
        self._take_over(state)
        self._cells = {
            name: {member: list(cell) for member, cell in cells.items()}
            for name, cells in state["cells"].items()
        }


class EloRatings(_Meetings):
    """Ratings moved by every training game (Elo 1978); a snapshot begins with its member's, a
    copy takes the winner's.
    """

    kind: Literal["elo"] = "elo"

    def __init__(self, window: int) -> None:
        super().__init__(window)
        self._members: dict[str, float] = {}
        self._snapshots: dict[str, float] = {}

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        super().add_snapshot(entry)
        rating = self._members.setdefault(entry.member, 0.0)
        self._snapshots = {
            snapshot_id: self._snapshots.get(snapshot_id, rating) for snapshot_id in self.known()
        }

    def add(self, record: GameRecord) -> bool:
        found = [
            meeting
            for meeting in self.meetings(record)
            if meeting.opponent.name in self._table(meeting.opponent)
        ]
        # All from the ratings before the game. A member's meeting with another one is met a second
        # time from the other's side.
        steps = [
            ELO_STEP * (points - self._expected(member, self._table(opponent)[opponent.name]))
            for member, opponent, points in found
        ]
        for (member, opponent, _), step in zip(found, steps, strict=True):
            self._members[member] = self._members.get(member, 0.0) + step
            if opponent.kind == "snapshot":
                self._snapshots[opponent.name] -= step
        return bool(found)

    def copied(self, member: str, donor: str, generation: int) -> None:
        super().copied(member, donor, generation)
        self._members[member] = self._members.get(donor, 0.0)

    def win_rates(self) -> WinRates:
        return {
            name: {member: self._expected(member, rating) for member in self._members}
            for name, rating in self._snapshots.items()
        }

    def _table(self, player: PlayerRef) -> dict[str, float]:
        return {"member": self._members, "snapshot": self._snapshots}.get(player.kind, {})

    def _expected(self, member: str, rating: float) -> float:
        return float(1.0 / (1.0 + 10.0 ** ((rating - self._members.get(member, 0.0)) / 400.0)))

    def state(self) -> JsonState:
        return {"members": dict(self._members), "snapshots": dict(self._snapshots), **self._saved()}

    def load(self, state: JsonState) -> None:
        self._take_over(state)
        self._members, self._snapshots = dict(state["members"]), dict(state["snapshots"])
