"""Functions of a caller that are told of the updates, games, rounds and events of a training.

They are called in the order of what happens, and the training waits while one runs. Without any of
them a training has the sink that calls none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arena.data.metrics import MetricsWriter
from arena.league.flat_records import FlatGame, FlatRound, flat_game, flat_round
from arena.league.frames import frames_text
from arena.league.writer import LeagueWriter
from arena.training.sink import TrainingSink
from pbt.records import Event, GameRecord, RoundRecord
from pbt.transport.messages import GamesOver


@dataclass(frozen=True, slots=True)
class Update:
    """An update of a member's learner.

    member  the member
    frames  of its clock
    values  of its training curves at this update, by name, as `arena metrics` prints them
    """

    member: str
    frames: int
    values: Mapping[str, float]

    @property
    def record(self) -> dict[str, float | str]:
        """The same as one flat dictionary, for a table of updates."""
        return {"member": self.member, "frames": self.frames, **self.values}


@dataclass(frozen=True)
class Listeners:
    """The functions that are told of a training, each None where none was given.

    update  of every update of a learner
    game    of every finished game, voided ones included
    round   of every PBT round
    event   of every event, such as a copy, a checkpoint or a warning
    """

    update: Callable[[Update], object] | None = None
    game: Callable[[FlatGame], object] | None = None
    round: Callable[[FlatRound], object] | None = None
    event: Callable[[Event], object] | None = None


NO_LISTENERS = Listeners()


class ListeningSink(TrainingSink):
    """A sink that tells listeners of what it takes. An error of a listener ends the training."""

    def __init__(
        self,
        writer: LeagueWriter,
        metrics: MetricsWriter,
        population: str,
        listeners: Listeners,
    ) -> None:
        super().__init__(writer, metrics)
        self._population, self._listeners = population, listeners
        self._labels: dict[str, str] = {}
        self._labelled = 0

    def series(self, member: str, frames: int, values: Mapping[str, float]) -> None:
        super().series(member, frames, values)
        if self._listeners.update is not None:
            self._listeners.update(Update(member, frames, dict(values)))

    def training_games(self, games: GamesOver, first: int) -> None:
        super().training_games(games, first)
        for record in games.records(first) if self._listeners.game is not None else ():
            self._tell(record)

    def game(self, record: GameRecord) -> None:
        super().game(record)
        self._tell(record)

    def _tell(self, record: GameRecord) -> None:
        if self._listeners.game is not None:
            labels = self._names_of_snapshots()
            self._listeners.game(flat_game(record, labels, population=self._population))

    def round(self, record: RoundRecord) -> None:
        super().round(record)
        if self._listeners.round is not None:
            self._listeners.round(flat_round(self._population, record))

    def event(self, event: Event) -> None:
        super().event(event)
        if self._listeners.event is not None:
            self._listeners.event(event)

    def _names_of_snapshots(self) -> Mapping[str, str]:
        """Id -> name of all snapshots so far."""
        for one in self.snapshots[self._labelled :]:
            name = f"{self._population}/{one.member}@{frames_text(one.frames)}"
            self._labels[one.snapshot_id] = name
        self._labelled = len(self.snapshots)
        return self._labels
