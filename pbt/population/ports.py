"""What the controller and the engine speak to, as protocols. Results go outside: `arena` takes
them, tests use dictionaries.
"""

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

from pbt.hyperparams import Hyperparams
from pbt.matchmaking.past import WinRates
from pbt.matchmaking.seats import SnapshotEntry
from pbt.records import Event, GameRecord, RoundRecord, SnapshotRecord


class RunSink(Protocol):
    """Where results go. Every call returns at once; the rows are committed soon after (at most 1
    s or 1000 games later), in the order given.
    """

    def game(self, record: GameRecord) -> None: ...

    def round(self, record: RoundRecord) -> None: ...

    def snapshot(self, record: SnapshotRecord) -> None: ...

    def event(self, event: Event) -> None: ...

    def series(self, member: str, frames: int, values: Mapping[str, float]) -> None:
        """Points of training curves; they go to the population's metrics file, not into the
        league.
        """

    @property
    def backlog(self) -> int:
        """Games not yet committed; training pauses while it is too large."""

    def drain(self, timeout_s: float) -> None:
        """Return when everything given so far is committed. Raises: PbtError naming the cause
        when that takes longer than timeout_s.
        """


class SnapshotStore(Protocol):
    """Frozen weights by content."""

    def put(self, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> tuple[str, int]:
        """Store weights; returns (snapshot id = SHA-256 of the file, size in bytes). Equal
        weights and metadata give the same id.
        """

    def load(self, snapshot_id: str) -> dict[str, Tensor]:
        """Raises: SnapshotError when missing or damaged."""


class MemberLearner(Protocol):
    """The learner of one member, wherever it lives."""

    @property
    def version(self) -> int:
        """Of its weights: batches that changed them."""

    @property
    def frames(self) -> int:
        """Frames consumed: the member's own clock."""

    def state(self) -> dict[str, Tensor]:
        """Everything it needs to continue; tensors named "model.*" are what acts."""

    def copy_from(self, state: Mapping[str, Tensor]) -> None:
        """Take over weights, normaliser and moments of another member's `state()`; the clocks
        stay.
        """

    def set_hyperparams(self, hyperparams: Hyperparams) -> None: ...


class Matchmaker(Protocol):
    """Who seats the games, wherever that happens."""

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        """There is a new opponent."""

    def set_generation(self, member: str, generation: int) -> None:
        """The member's weights were replaced."""

    def set_learning(self, member: str, learning: bool) -> None:
        """The member learns (again), or sits as a frozen opponent from now on."""

    def set_win_rates(self, win_rates: WinRates) -> None:
        """What members may expect against snapshots has changed."""

    def set_evaluation_share(self, share: float) -> None:
        """So many of the games from now on are played between frozen snapshots."""


class ControlSource(Protocol):
    """What people ask of a running training."""

    def stop_requested(self) -> bool: ...
