"""Payoffs: the expected score of every live member against every frozen opponent.

Win rates and Elo ratings are the two kinds of `PayoffSource`. Both depend on the games only, not on
time. A member changes while it learns, so the newest hundred games or so weigh most:
1 / (1 - FORGET) games for win rates, about as many for ratings.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from pbt.config.population import MatchmakingConfig
from pbt.matchmaking.past import WinRates
from pbt.matchmaking.roster import SnapshotEntry
from pbt.records import GameRecord, PlayerRef, SeatRecord, is_voided
from pbt.saved import SavedCounts, SavedRatings, SavedSource

FORGET = 0.99
# Every win rate starts with one game won and one lost, so it is never 0 or 1, and 1/2 at first.
PRIOR_GAMES = 2.0
# A rating moves by this times (points - expected points): 4 Elo points for a win against an equal.
ELO_STEP = 8.0


class Meeting(NamedTuple):
    """A live member and another player of the same game.

    points  of the member: 1 when it placed ahead of the other, 1/2 level, 0 behind
    """

    member: str
    opponent: PlayerRef
    points: float


class PayoffSource(ABC):
    """Estimates members' expected scores against snapshots from the games they played.

    It knows the snapshots of the window and which games count; a subclass makes estimates of them.
    """

    def __init__(self, window: int) -> None:
        """window: newest snapshots of each role that may be opponents."""
        self._window = window
        # role -> ids of its candidates, newest last
        self._candidates: dict[str, deque[str]] = {}
        self._generations: dict[str, int] = {}

    @abstractmethod
    def add(self, record: GameRecord) -> bool:
        """Take a finished game into account; returns whether it counted."""

    @abstractmethod
    def win_rates(self) -> WinRates:
        """Expected scores in [0, 1], never nan, against the snapshots of the window.

        Pairs that have not met may be missing.
        """

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        """Note a new opponent, and forget those that have left the window."""
        candidates = self._candidates.setdefault(entry.role, deque(maxlen=self._window))
        candidates.append(entry.snapshot_id)

    def copied(self, member: str, donor: str, generation: int) -> None:
        """Give the member the estimates of the donor.

        The member plays with the donor's weights from this generation on.
        """
        self._generations[member] = generation

    def known(self) -> list[str]:
        """Ids of all candidates, each once."""
        return list(dict.fromkeys(chain.from_iterable(self._candidates.values())))

    def meetings(self, record: GameRecord) -> Iterator[Meeting]:
        """The meetings of a training game.

        Every live member that began the game with its present weights meets all other players, but
        not itself at another seat. Other kinds of games and voided ones have no meetings.
        """
        if record.kind != "training" or is_voided(record.end_reason):
            return
        for own in record.seats:
            present = self._generations.get(own.player.name, 0)
            if own.player.kind == "member" and own.generation == present:
                for other in record.seats:
                    if other.player != own.player:
                        yield Meeting(own.player.name, other.player, _points(own, other))

    @abstractmethod
    def state(self) -> SavedCounts | SavedRatings: ...

    @abstractmethod
    def load(self, state: SavedCounts | SavedRatings) -> bool:
        """Take over what `state` returned; False where that was of another kind of source."""

    def _followed(self) -> tuple[dict[str, list[str]], dict[str, int]]:
        candidates = {role: list(ids) for role, ids in self._candidates.items()}
        return candidates, dict(self._generations)

    def _follow(self, state: SavedSource) -> None:
        self._candidates = {
            role: deque(ids, maxlen=self._window) for role, ids in state.candidates.items()
        }
        self._generations = dict(state.generations)


def _points(own: SeatRecord, other: SeatRecord) -> float:
    return 0.5 * (1 + (own.place < other.place) - (own.place > other.place))


class RecentWinRates(PayoffSource):
    """Win rates of each member against each candidate, for prioritized fictitious self-play.

    A draw counts half, and a game counts less the older it is.
    """

    def __init__(self, window: int) -> None:
        super().__init__(window)
        # snapshot -> member -> (points, games)
        self._cells: dict[str, dict[str, tuple[float, float]]] = {}

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        super().add_snapshot(entry)
        known = self.known()
        self._cells = {name: cells for name, cells in self._cells.items() if name in known}

    def add(self, record: GameRecord) -> bool:
        candidates, counted = self.known(), False
        for member, opponent, points in self.meetings(record):
            if opponent.kind == "snapshot" and opponent.name in candidates:
                cells = self._cells.setdefault(opponent.name, {})
                before, games = cells.get(member, (0.0, 0.0))
                cells[member] = (before * FORGET + points, games * FORGET + 1.0)
                counted = True
        return counted

    def copied(self, member: str, donor: str, generation: int) -> None:
        super().copied(member, donor, generation)
        for cells in self._cells.values():
            cells.pop(member, None)
            if donor in cells:
                cells[member] = cells[donor]

    def win_rates(self) -> WinRates:
        return {
            snapshot_id: {
                member: (points + PRIOR_GAMES / 2) / (games + PRIOR_GAMES)
                for member, (points, games) in cells.items()
            }
            for snapshot_id, cells in self._cells.items()
        }

    def state(self) -> SavedCounts:
        cells = {snapshot_id: dict(own) for snapshot_id, own in self._cells.items()}
        return SavedCounts(*self._followed(), cells)

    def load(self, state: SavedCounts | SavedRatings) -> bool:
        """See PayoffSource."""
        if not isinstance(state, SavedCounts):
            return False
        self._follow(state)
        self._cells = {snapshot_id: dict(own) for snapshot_id, own in state.cells.items()}
        return True


class EloRatings(PayoffSource):
    """Elo ratings (Elo 1978) of members and candidates, which every training game moves.

    A snapshot starts with its member's rating. A member that copies another takes its rating.
    """

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
        # All steps come from the ratings before the game. Two members meet twice, once from each
        # side, so only a snapshot's rating is moved together with its opponent's.
        rated = {"member": self._members, "snapshot": self._snapshots}
        steps = [
            (member, opponent, ELO_STEP * (points - self._expected(member, rating)))
            for member, opponent, points in self.meetings(record)
            if (rating := rated.get(opponent.kind, {}).get(opponent.name)) is not None
        ]
        for member, opponent, step in steps:
            self._members[member] = self._members.get(member, 0.0) + step
            if opponent.kind == "snapshot":
                self._snapshots[opponent.name] -= step
        return bool(steps)

    def copied(self, member: str, donor: str, generation: int) -> None:
        super().copied(member, donor, generation)
        self._members[member] = self._members.get(donor, 0.0)

    def win_rates(self) -> WinRates:
        return {
            name: {member: self._expected(member, rating) for member in self._members}
            for name, rating in self._snapshots.items()
        }

    def _expected(self, member: str, rating: float) -> float:
        return float(1.0 / (1.0 + 10.0 ** ((rating - self._members.get(member, 0.0)) / 400.0)))

    def state(self) -> SavedRatings:
        return SavedRatings(*self._followed(), dict(self._members), dict(self._snapshots))

    def load(self, state: SavedCounts | SavedRatings) -> bool:
        """See PayoffSource."""
        if not isinstance(state, SavedRatings):
            return False
        self._follow(state)
        self._members, self._snapshots = dict(state.members), dict(state.snapshots)
        return True


def payoff_source(config: MatchmakingConfig) -> PayoffSource | None:
    """The payoff source that the mode of matchmaking needs, None where it needs none."""
    match config.past_mode:
        case "pfsp_hard" | "pfsp_variance":
            return RecentWinRates(config.past_window)
        case "elo_gaussian":
            return EloRatings(config.past_window)
        case _:
            return None
