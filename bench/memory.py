"""Sink, store and control of a run in memory, for measurements and tests without a league.

They fill the protocols of `pbt.population.interfaces`.
"""

import hashlib
from collections.abc import Mapping

from torch import Tensor

from pbt.errors import SnapshotError
from pbt.models.weights import to_bytes
from pbt.records import Event, GameRecord, RoundRecord, SnapshotRecord, WiringCertificate
from pbt.transport.messages import GamesOver


class MemorySink:
    """A RunSink that keeps everything in lists."""

    backlog = 0

    def __init__(self) -> None:
        self.games: list[GameRecord] = []
        self.rounds: list[RoundRecord] = []
        self.snapshots: list[SnapshotRecord] = []
        self.certificates: list[WiringCertificate] = []
        self.events: list[Event] = []
        self.points: list[tuple[str, int, Mapping[str, float]]] = []

    def training_games(self, games: GamesOver, first: int) -> None:
        self.games += games.records(first)

    def game(self, record: GameRecord) -> None:
        self.games.append(record)

    def round(self, record: RoundRecord) -> None:
        self.rounds.append(record)

    def snapshot(self, record: SnapshotRecord) -> None:
        self.snapshots.append(record)

    def certificate(self, record: WiringCertificate) -> None:
        self.certificates.append(record)

    def event(self, event: Event) -> None:
        self.events.append(event)

    def series(self, member: str, frames: int, values: Mapping[str, float]) -> None:
        self.points.append((member, frames, values))

    def drain(self, timeout_s: float) -> None:
        """Return at once: everything is in the lists already."""


class MemoryStore:
    """A SnapshotStore in a dictionary."""

    def __init__(self) -> None:
        self._stored: dict[str, dict[str, Tensor]] = {}

    def put(self, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> tuple[str, int]:
        content = to_bytes(weights, metadata)
        snapshot_id = hashlib.sha256(content).hexdigest()
        self._stored[snapshot_id] = {name: tensor.clone() for name, tensor in weights.items()}
        return snapshot_id, len(content)

    def load(self, snapshot_id: str) -> dict[str, Tensor]:
        if snapshot_id not in self._stored:
            raise SnapshotError(f"snapshot {snapshot_id[:12]} is not stored here")
        return {name: tensor.clone() for name, tensor in self._stored[snapshot_id].items()}


class NoControl:
    """A ControlSource that never asks for anything."""

    def stop_requested(self) -> bool:
        return False
