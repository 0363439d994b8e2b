"""The trainer's side of edits while it trains (`arena.data.edits`)."""

import logging

from arena.data.config_file import write_config
from arena.data.edits import Edits, read_edits
from arena.data.paths import PopulationPaths
from arena.signals import SignalControl
from arena.training.checkpointing import Housekeeper
from arena.training.sink import TrainingSink
from pbt.config.load import config_from_table
from pbt.config.resume import changes, changes_members, takes_live, with_live
from pbt.config.schema import RunConfig
from pbt.errors import PbtError
from pbt.records import Event
from pbt.runtime.engine import Engine

log = logging.getLogger("arena.training.live_edits")


class LiveEdits:
    """Puts in force what was left for this start. Where members come or go it asks for another
    engine.

    taken    number of the newest edits that are in force and saved;  refused: of the newest that
             need a new start of the processes
    """

    def __init__(
        self,
        paths: PopulationPaths,
        config: RunConfig,
        engine: Engine,
        keeper: Housekeeper,
        sink: TrainingSink,
        control: SignalControl,
        taken: int | None = None,
    ) -> None:
        """config: as it is stored;  taken: number of the edits that this engine was built with,
        None at the start of a process.
        """
        self._paths, self._config, self._engine, self._keeper, self._sink, self._control = (
            paths,
            config,
            engine,
            keeper,
            sink,
            control,
        )
        self.taken, self.refused = taken or 0, 0
        left = self._left()
        # Those were for an earlier start of the process; this one began with what is wanted.
        self._before = 0 if left is None or taken is not None else left.number

    def take(self) -> None:
        """Look for new ones; called between two turns. What cannot be saved now is tried again:
        an edit is in force when a checkpoint holds it.
        """
        left = self._left()
        if left is None or left.number <= max(self._before, self.taken, self.refused):
            return
        try:
            self._put_in_force(left)
        except PbtError as error:
            self._sink.warning = f"an edit is not saved yet: {error}"
            log.warning("edits %d: %s", left.number, error)

    def _put_in_force(self, left: Edits) -> None:
        after = config_from_table(self._config.model_dump(mode="json"), "edits", left.words)
        if not takes_live(self._config, after) or self._engine.controller.finished:
            self.refused = left.number
            return
        if changes_members(self._config, after):
            # What cannot be saved now would end the training: it goes on, and this is tried again.
            self._keeper.checkpoint()
            self._control.members_wanted = left
            return
        edited = changes(self._config, after)
        with self._engine.at_rest():
            self._engine.edit(with_live(self._engine.config, after))
        self._config = self._keeper.config = after
        frames = max(self._engine.clocks().values())
        for key, (old, new) in edited.items():
            self._sink.event(Event("edit", None, frames, f"edited {key}: {old} -> {new}"))
        self._keeper.checkpoint()
        write_config(self._paths, after)
        self.taken = left.number

    def _left(self) -> Edits | None:
        try:
            return read_edits(self._paths.edits)
        except PbtError as error:
            log.warning("%s", error)
            return None
