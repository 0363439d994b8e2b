"""The roster: the players that may be seated, as one value that is replaced and never changed.

The main process owns it. Planners follow it, in that process or in others, where the whole of it
is sent when it has changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from pbt.matchmaking.past import WinRates
from pbt.records import PlayerRef
from pbt.saved import SavedEntrant, SavedOpponent, SavedPlanner, SavedRoster

# A member's newest snapshots, which meet in evaluation games.
_OF_A_MEMBER = 2


@dataclass(frozen=True, slots=True)
class MemberEntry:
    """A live member.

    role        that it plays
    policy      its index in the policy table
    generation  of its weights
    learning    False while it is paused, finished or failed; it then plays with frozen weights
    """

    name: str
    role: str
    policy: int
    generation: int = 0
    learning: bool = True


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """A snapshot whose weights are still stored.

    snapshot_id  its id
    member       the member that made it
    role         the role that it plays
    """

    snapshot_id: str
    member: str
    role: str


@dataclass(frozen=True)
class Roster:
    """The players that may be seated, and by which chances.

    members           in the order of their places in the policy table
    window            newest snapshots of each role that may be opponents from the past
    evaluation_share  of the games that are played between frozen players only
    snapshots         that a next game may seat, oldest first; they stay few, however old the
                      population is
    win_rates         of members against snapshots, by which past opponents are drawn
    """

    members: tuple[MemberEntry, ...]
    window: int
    evaluation_share: float
    snapshots: tuple[SnapshotEntry, ...] = ()
    win_rates: WinRates = field(default_factory=dict)

    @property
    def learning(self) -> bool:
        """At least one member still learns."""
        return any(member.learning for member in self.members)

    def generations(self) -> dict[int, int]:
        """Of the members' weights, by their index in the policy table."""
        return {member.policy: member.generation for member in self.members}

    def snapshot_ids(self) -> set[str]:
        """Ids of the snapshots. Removing the weights of any other changes no game."""
        return {entry.snapshot_id for entry in self.snapshots}

    # --- other values -----------------------------------------------------------------------------

    def with_snapshot(self, entry: SnapshotEntry) -> Self:
        """With a new opponent, and without those that no game seats any more."""
        return replace(self, snapshots=self._seatable((*self.snapshots, entry)))

    def without_snapshots(self, snapshot_ids: set[str]) -> Self:
        kept = (entry for entry in self.snapshots if entry.snapshot_id not in snapshot_ids)
        return replace(self, snapshots=tuple(kept))

    def with_generation(self, member: str, generation: int) -> Self:
        """With new weights for a member."""
        return self._with(member, lambda entry: replace(entry, generation=generation))

    def with_learning(self, member: str, learning: bool) -> Self:
        """With a member that learns (again), or sits as a frozen opponent from now on."""
        return self._with(member, lambda entry: replace(entry, learning=learning))

    def with_win_rates(self, win_rates: WinRates) -> Self:
        return replace(self, win_rates=win_rates)

    def with_evaluation(self, share: float) -> Self:
        return replace(self, evaluation_share=share)

    def _with(self, name: str, change: Callable[[MemberEntry], MemberEntry]) -> Self:
        members = (change(entry) if entry.name == name else entry for entry in self.members)
        return replace(self, members=tuple(members))

    def _seatable(self, snapshots: Sequence[SnapshotEntry]) -> tuple[SnapshotEntry, ...]:
        """The candidates of training games in every mode, and each member's newest ones."""
        names = {member.name for member in self.members}
        of_role, of_member = Counter[str](), Counter[str]()
        kept = []
        for entry in reversed(snapshots):
            newest = entry.member in names and of_member[entry.member] < _OF_A_MEMBER
            if newest or of_role[entry.role] < self.window:
                kept.append(entry)
            of_role[entry.role] += 1
            of_member[entry.member] += 1
        return tuple(reversed(kept))

    # --- resume -----------------------------------------------------------------------------------

    def state(self) -> SavedRoster:
        return SavedRoster(
            {one.name: SavedEntrant(one.generation, one.learning) for one in self.members},
            [SavedOpponent(one.snapshot_id, one.member, one.role) for one in self.snapshots],
            {snapshot: dict(rates) for snapshot, rates in self.win_rates.items()},
        )

    def resumed(self, state: SavedRoster) -> Self:
        """With what stands in a `state` of these members; it may have more snapshots than those."""
        members = []
        for member in self.members:
            saved = state.entrants[member.name]
            members.append(replace(member, generation=saved.generation, learning=saved.learning))
        entries = [SnapshotEntry(one.snapshot_id, one.member, one.role) for one in state.snapshots]
        return replace(
            self,
            members=tuple(members),
            snapshots=self._seatable(entries),
            win_rates=state.win_rates,
        )


@dataclass
class EvaluationCounts:
    """Evaluation games so far.

    by_snapshot   seats that each snapshot had in them
    closing       games of the final evaluation, which is played when no member learns any more
    closing_from  games of every table before it; empty while a member learns
    """

    by_snapshot: Counter[str] = field(default_factory=Counter)
    closing: int = 0
    closing_from: list[int] = field(default_factory=list)

    def add(self, players: Iterable[PlayerRef], roster: Roster) -> None:
        """Count a game between these players that was planned by this roster."""
        self.by_snapshot.update(one.name for one in players if one.kind == "snapshot")
        self.closing += not roster.learning

    def __add__(self, other: Self) -> Self:
        closing = self.closing + other.closing
        return type(self)(self.by_snapshot + other.by_snapshot, closing, self.closing_from)

    def __sub__(self, other: Self) -> Self:
        """What is left, never below 0."""
        closing = max(0, self.closing - other.closing)
        return type(self)(self.by_snapshot - other.by_snapshot, closing, self.closing_from)

    def follow(self, before: Roster, after: Roster, counts: Iterable[int]) -> None:
        """Follow another roster: where members learn again, there will be another end.

        counts: games so far, of every table
        """
        if after.learning and not before.learning:
            self.closing, self.closing_from = 0, []
        if before.learning and not after.learning:
            self.closing_from = [int(count) for count in counts]

    def saved(self, counts: Iterable[int], roster: Roster) -> SavedPlanner:
        """Return the state of matchmaking. counts: games so far, of every table."""
        began = [int(count) for count in counts]
        evaluated = dict(self.by_snapshot), self.closing
        return SavedPlanner(began, *evaluated, roster.state(), self.closing_from)

    @classmethod
    def load(cls, state: SavedPlanner) -> Self:
        return cls(Counter(state.evaluated), state.closing_played, list(state.closing_from))
