"""The protocols through which the controller and the engine reach what surrounds them.

The package `arena` stores results in its league, measurements in memory (`bench/memory.py`).
"""

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

from pbt.matchmaking.roster import Roster
from pbt.records import Event, GameRecord, RoundRecord, SnapshotRecord, WiringCertificate
from pbt.transport.messages import GamesOver


class RunSink(Protocol):
    """Takes the results of a run.

    Every call returns at once. The rows are committed in the order of the calls, at most 1 s or
    1000 games later.
    """

    def training_games(self, games: GamesOver, first: int) -> None:
        """Take training games that ended well. first: number of the first one."""

    def game(self, record: GameRecord) -> None:
        """Take an evaluation game, or one that was voided."""

    def round(self, record: RoundRecord) -> None: ...

    def snapshot(self, record: SnapshotRecord) -> None: ...

    def certificate(self, record: WiringCertificate) -> None: ...

    def event(self, event: Event) -> None: ...

    def series(self, member: str, frames: int, values: Mapping[str, float]) -> None:
        """Take a point of a member's training curves.

        It goes into the population's metrics file, not into the league.
        """

    @property
    def backlog(self) -> int:
        """Games not yet committed; training pauses while they are too many."""

    def drain(self, timeout_s: float) -> None:
        """Return when everything taken so far is committed.

        Raises: PbtError naming the cause when that takes longer than timeout_s.
        """


class SnapshotStore(Protocol):
    """Stores frozen weights under an id that follows from their content."""

    def put(self, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> tuple[str, int]:
        """Store weights; returns (snapshot id, size in bytes).

        The id is the SHA-256 of the file, so equal weights and metadata give the same id.
        """

    def load(self, snapshot_id: str) -> dict[str, Tensor]:
        """Return the weights of a snapshot. Raises: SnapshotError when missing or damaged."""


class MemberLearner(Protocol):
    """The learner of one member, in this process or in another."""

    @property
    def version(self) -> int:
        """The version of its weights: how many batches have changed them."""

    @property
    def frames(self) -> int:
        """Frames consumed: the member's own clock."""

    def state(self) -> dict[str, Tensor]:
        """Return everything that it needs to go on; the tensors named "model.*" are what acts."""


class Matchmaker(Protocol):
    """Seats the games, in this process or in the workers.

    roster  the players; the controller replaces it, and games are planned by it from then on
    """

    roster: Roster


class ControlSource(Protocol):
    """Requests of people to a running training."""

    def stop_requested(self) -> bool: ...
