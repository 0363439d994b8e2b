"""Payoffs: the expected score of every live member against every frozen opponent.

`PayoffSource` is the interface; win rates and Elo ratings implement it. Both depend on the games
only, not on time. A member changes while it learns, so the newest hundred games or so weigh most:
1 / (1 - FORGET) games for win rates, about as many for ratings.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, Protocol

from pbt.config.population import MatchmakingConfig
from pbt.matchmaking.past import WinRates
from pbt.matchmaking.roster import SnapshotEntry
from pbt.records import GameRecord, PlayerRef, SeatRecord, is_voided
from pbt.transport.messages import JsonState

FORGET = 0.99
# Every win rate starts with one game won and one lost, so it is never 0 or 1, and 1/2 at first.
PRIOR_GAMES = 2.0
# A rating moves by this times (points - expected points): 4 Elo points for a win against an equal.
ELO_STEP = 8.0


class PayoffSource(Protocol):
    """Estimates members' expected scores against snapshots from the games they played.

    Only some modes of matchmaking need them.

    kind  name of the implementation in checkpoints
    """

    @property
    def kind(self) -> str: ...

    def add(self, record: GameRecord) -> bool:
        """Take a finished game into account; returns whether it counted."""

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        """Note a new opponent, and forget those that have left the window."""

    def copied(self, member: str, donor: str, generation: int) -> None:
        """Give the member the estimates of the donor.

        The member plays with the donor's weights from this generation on.
        """

    def win_rates(self) -> WinRates:
        """Expected scores in [0, 1], never nan, against the snapshots of the window.

        Pairs that have not met may be missing.
        """

    def state(self) -> JsonState: ...

    def load(self, state: JsonState) -> None:
        """Take over what `state` returned."""


def payoff_source(config: MatchmakingConfig) -> PayoffSource | None:
    """The payoff source that the mode of matchmaking needs, None where it needs none."""
    match config.past_mode:
        case "pfsp_hard" | "pfsp_variance":
            return RecentWinRates(config.past_window)
        case "elo_gaussian":
            return EloRatings(config.past_window)
        case _:
            return None


class Meeting(NamedTuple):
    """A live member and another player of the same game.

    points  of the member: 1 when it placed ahead of the other, 1/2 level, 0 behind
    """

    member: str
    opponent: PlayerRef
    points: float


class _Meetings:
    """The part that both sources share: the candidates, and which games count."""

    def __init__(self, window: int) -> None:
        self._window = window
        # role -> ids of its candidates, newest last
        self._candidates: dict[str, deque[str]] = {}
        self._generations: dict[str, int] = {}

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        self._candidates.setdefault(entry.role, deque(maxlen=self._window)).append(
            entry.snapshot_id
        )

    def copied(self, member: str, donor: str, generation: int) -> None:
        self._generations[member] = generation

    def known(self) -> list[str]:
        """Ids of all candidates, each once."""
        return list(
            dict.fromkeys(
                snapshot_id
                for candidates in self._candidates.values()
                for snapshot_id in candidates
            )
        )

    def meetings(self, record: GameRecord) -> Iterator[Meeting]:
        """The meetings of a training game.

        Every live member that began the game with its present weights meets all other players, but
        not itself at another seat. Other kinds of games and voided ones have no meetings.
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
            "candidates": {
                role: list(snapshot_ids) for role, snapshot_ids in self._candidates.items()
            },
            "generations": dict(self._generations),
        }

    def _take_over(self, state: Mapping[str, JsonState]) -> None:
        self._candidates = {
            role: deque(snapshot_ids, maxlen=self._window)
            for role, snapshot_ids in state["candidates"].items()
        }
        self._generations = dict(state["generations"])


def _points(own: SeatRecord, other: SeatRecord) -> float:
    return 0.5 * (1 + (own.place < other.place) - (own.place > other.place))


class RecentWinRates(_Meetings):
    """Win rates of each member against each candidate, for prioritized fictitious self-play.

    A draw counts half, and a game counts less the older it is.
    """

    kind: Literal["counts"] = "counts"

    def __init__(self, window: int) -> None:
        super().__init__(window)
        # snapshot -> member -> [points, games]
        self._cells: dict[str, dict[str, list[float]]] = {}

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        super().add_snapshot(entry)
        candidates = set(self.known())
        self._cells = {
            snapshot_id: cells
            for snapshot_id, cells in self._cells.items()
            if snapshot_id in candidates
        }

    def add(self, record: GameRecord) -> bool:
        candidates, counted = self.known(), False
        for member, opponent, points in self.meetings(record):
            if opponent.kind == "snapshot" and opponent.name in candidates:
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
    """Elo ratings (Elo 1978) of members and candidates, which every training game moves.

    A snapshot starts with its member's rating. A member that copies another takes its rating.
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
        meetings = [
            meeting
            for meeting in self.meetings(record)
            if meeting.opponent.name in self._table(meeting.opponent)
        ]
        # All steps come from the ratings before the game. Two members meet twice, once from each
        # side, so only a snapshot's rating is moved together with its opponent's.
        steps = [
            ELO_STEP * (points - self._expected(member, self._table(opponent)[opponent.name]))
            for member, opponent, points in meetings
        ]
        for (member, opponent, _), step in zip(meetings, steps, strict=True):
            self._members[member] = self._members.get(member, 0.0) + step
            if opponent.kind == "snapshot":
                self._snapshots[opponent.name] -= step
        return bool(meetings)

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
