"""Games of matches that went wrong: each is kept as a file, and played once more by itself.

A game that goes wrong again from its seed and actions would do so at every try. One that does not
went wrong by something else (memory, a clock), so it is worth another try.
"""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.league.database import League
from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec
from pbt.envs.testing.reproduction import MOST, Reproduction, play_again
from pbt.errors import EnvError
from pbt.sampling.game_errors import raising_line
from pbt.sampling.reproductions import FOLDER, Reproductions
from pbt.sampling.table import Table

MAX_DECISIONS = 100_000
"""Most decisions of a game of a match. A longer one has no end that is worth another try."""


@dataclass(frozen=True)
class GameFault:
    """Why a game went wrong.

    env      the game's name; of a game in a file it names the file
    place    the error's type and the line of code that raised it; "" where no code raised
    file     with which it can be played again, None where it could not be written
    repeats  it went wrong again from its seed and actions
    """

    env: str
    place: str
    file: Path | None
    repeats: bool

    @property
    def words(self) -> str:
        """Where it went wrong and how to play it again, for the end of a sentence."""
        places = ", ".join(word for word in (self.env, self.place) if word)
        return places + (f"; play it again: arena env replay {self.file}" if self.file else "")


class GameFaults(Reproductions):
    """Keeps the first games of a match that went wrong, one of which the match tells of.

    More of them would take the place of the first in the folder.

    folder  where they are written; None: nowhere
    env     the game
    player  whose name and options of the game are those of all
    """

    def __init__(self, folder: Path | None, env: EnvSpec, player: ResolvedPlayer) -> None:
        super().__init__(folder, player.env_name, player.env_options)
        self._spec: EnvSpec = env
        self._made_with: Mapping[str, Any] = player.env_options
        self._found: dict[int, GameFault] = {}
        self._kept = 0

    def keep(self, table: Table, error: EnvError) -> Path | None:
        """Write the table's game if it is among the first, and note whether it goes wrong again."""
        file = super().keep(table, error) if self._kept < MOST else None
        self._kept += 1
        game = self.made(table, error)
        repeats = table.steps >= MAX_DECISIONS or self._repeats(game)
        place = "" if error.__cause__ is None else raising_line(error)
        self._found[table.plan.game_count] = GameFault(game.env, place, file, repeats)
        return file

    def _repeats(self, reproduction: Reproduction) -> bool:
        try:
            with closing(self._spec.make(**self._made_with)) as game:
                return play_again(game, reproduction).end == "error"
        # A game that cannot be made or closed may raise anything. It gets its other tries.
        except Exception:  # noqa: BLE001
            return False

    def take(self, game_count: int) -> GameFault | None:
        """What went wrong in the game of this number, told once; None where an engine ended."""
        return self._found.pop(game_count, None)


def faults_folder(players: Sequence[ResolvedPlayer], league: League | None = None) -> Path:
    """Where to keep games that went wrong: in the league's folder, else beside a player's weights,
    else in the system's folder for temporary files.
    """
    if league is not None:
        return league.path.parent / FOLDER
    snapshots = [player.snapshots for player in players if player.snapshots is not None]
    return snapshots[0].with_name(FOLDER) if snapshots else Path(tempfile.gettempdir())
