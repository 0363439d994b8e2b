"""Filming: a worker films a share of the evaluation games while it plays them.

A film shows what every seat sees, side by side, and the score (`pbt.film`). Evaluation games are
played during training, between frozen players only.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec, Game, SeatTurn
from pbt.errors import ConfigError
from pbt.film.extra import FilmError, require_video
from pbt.film.folder import SUFFIX, FilmFolder, FilmName
from pbt.records import PlayerRef
from pbt.sampling.table import Table
from pbt.seeding import uniform
from pbt.transport.messages import GameEnd

if TYPE_CHECKING:
    from pbt.film.camera import Camera
    from pbt.film.video import VideoWriter

# Height of a seat's tile in pixels. It is smaller than in `arena watch`, since the worker's games
# wait while it draws.
TILE_HEIGHT = 216
MB = 10**6


class GameObserver:
    """Is shown the games while a worker plays them, and changes nothing in them.

    This one only looks on.

    looks  it wants to be shown them
    """

    looks: ClassVar[bool] = False

    def begins(self, table: Table) -> None:
        """A game begins; its players are seated."""

    def sees(self, table: Table, turns: Sequence[SeatTurn]) -> None:
        """The game has given turns to its seats; called from its start to its end."""

    def spoiled(self, table: Table) -> None:
        """The game is voided."""

    def ends(self, end: GameEnd) -> None:
        """The game is over, or has been voided."""


class _Film(NamedTuple):
    """A film that is being made."""

    camera: "Camera"
    video: "VideoWriter"


class GameFilmer(GameObserver):
    """Films the share `evaluation.record_share` of one worker's evaluation games.

    The games are drawn by table and count. A film never harms its game: when filming fails in any
    way, the film is given up and the folder notes why. There is no film of a voided game, nor of a
    game that a resumed training continues in its middle.
    """

    looks = True

    def __init__(
        self, config: RunConfig, spec: EnvSpec, folder: Path, name_of: Callable[[PlayerRef], str]
    ) -> None:
        """folder: of the films. name_of: the name that films show for a player."""
        self._rules, self._seed = config.evaluation, config.seed
        self._spec, self._name_of = spec, name_of
        self._most_bytes = config.evaluation.record_mb * MB
        self._folder = FilmFolder(folder)
        self._films: dict[int, _Film] = {}
        try:
            self._folder.remove_leftovers()
        except OSError as error:
            self._folder.note_problem(str(error))

    def begins(self, table: Table) -> None:
        plan = table.plan
        if (
            plan.kind != "evaluation"
            or uniform(self._seed, "film", table.index, plan.game_count) >= self._rules.record_share
        ):
            return
        with self._filming(table.index):
            self._begin(table)

    def sees(self, table: Table, turns: Sequence[SeatTurn]) -> None:
        film = self._films.get(table.index)
        if film is None:
            return
        with self._filming(table.index):
            from pbt.film.camera import counted

            film.camera.look(turns, counted(table.game))
            if film.video.size_bytes > self._most_bytes:
                raise FilmError(
                    f"the film of {table.where} was given up: it alone is larger than "
                    f"evaluation.record_mb = {self._rules.record_mb}"
                )

    def spoiled(self, table: Table) -> None:
        self._drop(table.index)

    def ends(self, end: GameEnd) -> None:
        film = self._films.get(end.table)
        if film is None:
            return
        with self._filming(end.table):
            film.camera.ends(end, voided=False)
            film.video.path = film.video.path.with_name(
                FilmName(end.table, end.plan.game_count, end.trajectory_hash).file
            )
            film.video.close(keep=True)
            del self._films[end.table]
            self._folder.tidy(self._rules.record_films, self._most_bytes)

    def _begin(self, table: Table) -> None:
        from pbt.film.camera import Camera, Eyes, pace_of
        from pbt.film.picture import Painter
        from pbt.film.video import SMALL, VideoWriter

        self._folder.path.mkdir(exist_ok=True)
        eyes, pace = Eyes(self._spec.name, table.game), pace_of(self._spec.tics_per_s, None)
        painter = Painter(
            len(eyes.seats), eyes.height, eyes.width, max(1, round(TILE_HEIGHT / eyes.height))
        )
        names = [self._name_of(seat.player) for seat in table.plan.seats]
        place = self._folder.path / f"{table.index}-{table.plan.game_count}{SUFFIX}"
        video = VideoWriter(place, painter.size, pace.ticks_per_s, SMALL)
        camera = Camera(table.game.seat_names, eyes, painter, video, pace)
        self._films[table.index] = _Film(camera, video)
        camera.begins(names, range(len(table.plan.seats)), f"table {table.index}")

    @contextmanager
    def _filming(self, table: int) -> Iterator[None]:
        """Around all work on a table's film: an error ends the film, and the game goes on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  it is noted
            self._drop(table, _problem(error))

    def _drop(self, table: int, *problems: str) -> None:
        """Give up the table's film, if there is one. problems: the reasons."""
        film = self._films.pop(table, None)
        try:
            if film is not None:
                film.video.close(keep=False)
        except Exception as error:  # noqa: BLE001  it is noted
            problems = (*problems, _problem(error))
        if problems:
            self._folder.note_problem(f"table {table}: {'; '.join(problems)}")


def _problem(error: Exception) -> str:
    return (
        str(error) if isinstance(error, FilmError | OSError) else f"{type(error).__name__}: {error}"
    )


def check_filming(config: RunConfig, game: Game, source: str) -> None:
    """Raises ConfigError when the config asks for films and they cannot be made.

    The reason is that the game shows no image, or that the extra `video` is not installed.
    """
    share = config.evaluation.record_share
    if share == 0.0:
        return
    try:
        require_video()
        from pbt.film.camera import Eyes

        Eyes(config.env.name, game)
    except FilmError as error:
        raise ConfigError(
            source, [f"evaluation.record_share = {share:g}: {error}; or set it to 0"]
        ) from error
