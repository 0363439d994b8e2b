"""The snapshots of a training, whose data directory may go away for a while."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from torch import Tensor

from arena.league.database import League
from arena.league.league_file import LeagueError
from pbt.errors import SnapshotError
from pbt.snapshots import FileSnapshotStore

LOOK_EVERY_S = 0.2

Got = TypeVar("Got")


class WaitingStore(FileSnapshotStore):
    """A store that waits while the data directory is away, and then writes or reads.

    Nothing is written into a folder that stands in its place. The wait ends without the snapshot
    when the training is asked to stop.
    """

    def __init__(
        self,
        folder: Path,
        league: League,
        stop_requested: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        """league: in the same data directory; it knows whether that is there."""
        super().__init__(folder)
        self._league, self._stop_requested, self._say = league, stop_requested, say

    def put(self, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> tuple[str, int]:
        """As `FileSnapshotStore.put`. Raises: SnapshotError also when a stop ends the wait."""
        return self._when_there("written", lambda: FileSnapshotStore.put(self, weights, metadata))

    def load(self, snapshot_id: str) -> dict[str, Tensor]:
        """As `FileSnapshotStore.load`. Raises: SnapshotError also when a stop ends the wait."""
        return self._when_there("read", lambda: FileSnapshotStore.load(self, snapshot_id))

    def _when_there(self, done: str, act: Callable[[], Got]) -> Got:
        """What act returns. An error stands when it comes again while the directory is there."""
        failed = False
        while True:
            if (problem := self.wait()) is not None:
                raise SnapshotError(f"{self.folder}: a snapshot was not {done}: {problem}")
            try:
                return act()
            except SnapshotError:
                # It may have been away, and be back since.
                if self._away() is None:
                    if failed:
                        raise
                    failed = True

    def wait(self) -> str | None:
        """Return when the data directory is there. What is wrong, when a stop ends the wait."""
        told = False
        while (problem := self._away()) is not None:
            if self._stop_requested():
                return problem
            if not told:
                self._say(f"waiting: {problem}")
            told = True
            time.sleep(LOOK_EVERY_S)
        return None

    def _away(self) -> str | None:
        try:
            self._league.refuse_if_away()
        except LeagueError as error:
            return str(error)
        return None
