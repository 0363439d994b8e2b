"""Saves checkpoints of a training when they are due, and then removes snapshots it can spare."""

import logging
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from arena.league.best import best_of_each_role
from arena.league.compaction import Settled
from arena.league.database import League
from arena.league.retention import anchors, mark_weights_removed, plan_retention
from arena.training.settling import settled_by_all, settled_in
from arena.training.sink import TrainingSink
from arena.training.waiting_store import WaitingStore
from pbt.checkpoint.files import write_checkpoint
from pbt.config.schema import RunConfig
from pbt.errors import CheckpointError, PbtError
from pbt.records import Event
from pbt.runtime.engine import Engine

# A checkpoint during training is put off when the league is slow; the last one waits for it.
DRAIN_TIMEOUT_S, LAST_DRAIN_TIMEOUT_S = 2.0, 30.0

log = logging.getLogger("arena.training.checkpointing")


class Checkpointer:
    """Saves the checkpoints of one population.

    A checkpoint holds everything that a run needs to go on as if it had never stopped. Taking one
    does not change the run, so the wall clock may decide when.

    config  the config as it is stored
    """

    def __init__(
        self,
        name: str,
        config: RunConfig,
        engine: Engine,
        league: League,
        sink: TrainingSink,
        store: WaitingStore,
        folder: Path,
        number: int,
    ) -> None:
        """The parts of a start of the population.

        name    of the population
        folder  of its checkpoints
        number  of its newest checkpoint; 0 before the first
        """
        self._name, self.config, self._engine, self._league = name, config, engine, league
        self._sink, self._store, self._folder, self._number = sink, store, folder, number
        self._saved_s = time.monotonic()
        # Ids of the snapshots that the planner may seat, for each checkpoint that is kept on disk:
        # a resume from any of them must find its opponents.
        self._needed: deque[set[str]] = deque(maxlen=config.checkpoints.keep)
        # What each of them leaves to be folded.
        self._settled: deque[Settled] = deque(maxlen=config.checkpoints.keep)

    def checkpoint_if_due(self, now_s: float) -> None:
        """Save when it is time.

        When the league, the disk or a process refuses, the checkpoint is put off, the display says
        why, and training goes on.
        """
        if now_s - self._saved_s < self.config.checkpoints.every_s:
            return
        try:
            self.checkpoint(DRAIN_TIMEOUT_S)
        except PbtError as error:
            self._saved_s = now_s
            self._sink.warning = f"no checkpoint: {error}"
            log.warning("no checkpoint this time: %s", error)

    def checkpoint(self, drain_timeout_s: float = LAST_DRAIN_TIMEOUT_S) -> None:
        """Save a checkpoint, then its event.

        The engine rests from before the league has taken all rows until the checkpoint is written,
        so that a checkpoint never names a game that the league does not have.

        Raises: EngineError when the engine does not come to rest; CheckpointError when the disk
        refuses; PbtError when the league does not take the rows in time.
        """
        with self._engine.at_rest():
            self._sink.drain(drain_timeout_s)
            self._number += 1
            frames = max(self._engine.clocks().values())
            cut = self._engine.take_cut(self._number)
            # The config is stored as the user gave it, since every start chooses its processes and
            # devices anew.
            config, known = self.config.model_dump(mode="json"), self._sink.known()
            state = structs.replace(cut.state, config=config, league=known)
            try:
                whole = replace(cut, state=state)
                path = write_checkpoint(self._folder, whole, self.config.checkpoints.keep)
            except CheckpointError as error:
                self._sink.event(Event("warning", None, frames, str(error)))
                raise
            needed = self._engine.needed()
        self._sink.event(Event("checkpoint", None, frames, f"saved {path.name}"))
        self._sink.warning = None
        self._needed.append(needed)
        self._settled.append(settled_in(state))
        if len(self._settled) == self._settled.maxlen:
            self._sink.settle(settled_by_all(self._settled))
        self._remove_old_snapshots()
        self._saved_s = time.monotonic()

    @contextmanager
    def last_checkpoint(self) -> Iterator[None]:
        """Save as `checkpoint` does. Inside, the engine rests and agrees with the checkpoint.

        An engine that has not begun is at its newest checkpoint: its processes are not waited for.
        A data directory that is away is waited for, unless the training was asked to stop.
        """
        if not self._engine.began:
            yield
            return
        self._store.wait()
        with self._engine.at_rest():
            self.checkpoint()
            yield

    def _remove_old_snapshots(self) -> None:
        """Apply the retention plan, once the needs of every kept checkpoint are known."""
        snapshots = self.config.snapshots
        if len(self._needed) < (self._needed.maxlen or 0):
            return
        keep = set[str]().union(*self._needed, anchors(self._league))
        removable = plan_retention(
            self._sink.snapshots, snapshots.keep_newest, snapshots.thinned_every, keep
        )
        stored = set(self._store.sizes())
        removed = [snapshot_id for snapshot_id in removable if snapshot_id in stored]
        if removed:
            # Ratings take time in a large league, so they are asked for only where they matter.
            best = best_of_each_role(self._league, self._name).values()
            leaders = {leader.record.snapshot_id for leader in best}
            removed = [snapshot_id for snapshot_id in removed if snapshot_id not in leaders]
        if removed:
            # The row says "removed" before the file goes, so that a reader never looks for weights
            # that are gone.
            mark_weights_removed(self._league, removed, self._name)
            self._store.remove(removed)
            self._engine.remove_snapshots(set(removed))
