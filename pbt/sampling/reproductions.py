"""Keeps games that went wrong, so that they can be played again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pbt.envs.testing.reproduction import Reproduction
from pbt.errors import EnvError
from pbt.sampling.table import Table

FOLDER = "logs"


class Reproductions:
    """Writes games that went wrong into one folder.

    folder   of logs; None: they are not written
    env      the game's name
    options  that it is made with
    """

    def __init__(self, folder: Path | None, env: str, options: Mapping[str, Any]) -> None:
        self._folder, self._env, self._options = folder, env, options

    def keep(self, table: Table, error: EnvError) -> Path | None:
        """Write the table's game; returns its file, None where it is not or cannot be written."""
        if self._folder is None:
            return None
        try:
            return self.made(table, error).write(self._folder)
        except (OSError, TypeError, ValueError):
            return None

    def made(self, table: Table, error: EnvError) -> Reproduction:
        """The table's game, as it can be played again."""
        plain = [(seat, *action) for seat, action in table.actions()]
        return Reproduction(self._env, self._options, table.plan.seed, plain, str(error))
