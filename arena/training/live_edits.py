"""Edits of a config during training: the trainer's side of `arena.data.edits`."""

import logging

from arena.data.config_file import write_config
from arena.data.edits import Edits, read_edits
from arena.data.paths import PopulationPaths
from arena.signals import TrainingControl
from arena.training.checkpointing import Checkpointer
from arena.training.sink import TrainingSink
from pbt.config.resume import changes, changes_members, takes_live, with_live
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.errors import PbtError
from pbt.records import Event
from pbt.runtime.engine import Engine

log = logging.getLogger("arena.training.live_edits")


class LiveEdits:
    """Applies the edits that arrive while this start of a population trains.

    For edits that add or remove members it asks for a new engine.

    taken    number of the newest edits that are in force and saved
    refused  number of the newest edits that need a new start of the processes
    """

    def __init__(
        self,
        paths: PopulationPaths,
        config: RunConfig,
        engine: Engine,
        checkpointer: Checkpointer,
        sink: TrainingSink,
        control: TrainingControl,
        taken: int | None = None,
    ) -> None:
        """The parts of a start of the population.

        config  the config as it is stored
        taken   number of the edits that this engine was built with; None at the start of a process
        """
        self._paths, self._config, self._engine = paths, config, engine
        self._keeper, self._sink, self._control = checkpointer, sink, control
        self.taken, self.refused = taken or 0, 0
        edits = self._left()
        # Edits that are already there were for an earlier start; this one began with its config.
        self._before = 0 if edits is None or taken is not None else edits.number

    def take(self) -> None:
        """Look for new edits; called between two turns of the engine.

        An edit is in force once a checkpoint holds it. One that cannot be saved now is tried again.
        """
        edits = self._left()
        if edits is None or edits.number <= max(self._before, self.taken, self.refused):
            return
        try:
            self._put_in_force(edits)
        except PbtError as error:
            self._sink.warning = f"an edit is not saved yet: {error}"
            log.warning("edits %d: %s", edits.number, error)

    def _put_in_force(self, edits: Edits) -> None:
        """Apply edits, save a checkpoint and write the config. Raises: PbtError."""
        after = config_as_stored(self._config.model_dump(mode="json"), "edits", edits.words)
        if not takes_live(self._config, after) or self._engine.controller.finished:
            self.refused = edits.number
            return
        if changes_members(self._config, after):
            # Saved first: a failure now puts the edit off, a failure later would end the training.
            self._keeper.checkpoint()
            self._control.members_wanted = edits
            return
        changed_values = changes(self._config, after)
        with self._engine.at_rest():
            self._engine.edit(with_live(self._engine.config, after))
        self._config = self._keeper.config = after
        frames = max(self._engine.clocks().values())
        for key, (old, new) in changed_values.items():
            self._sink.event(Event("edit", None, frames, f"edited {key}: {old} -> {new}"))
        self._keeper.checkpoint()
        write_config(self._paths, after)
        self.taken = edits.number

    def _left(self) -> Edits | None:
        """The newest edits; None where there are none, or they cannot be read."""
        try:
            return read_edits(self._paths.edits)
        except PbtError as error:
            log.warning("%s", error)
            return None
