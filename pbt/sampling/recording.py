"""A share of the evaluation games is filmed while it is played: what every seat sees, side by side, with the score (`pbt.film`)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

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

# Of a tile: smaller than that of `arena watch`, since a worker plays on while it draws.
TILE_HEIGHT = 216
MB = 10**6


class Onlooker(Protocol):
    """Somebody who looks at games while a worker plays them, and changes nothing."""

    def begins(self, table: Table) -> None:
        """Players sit down."""

    def sees(self, table: Table, turns: Sequence[SeatTurn]) -> None:
        """What the seats learn, from the start of the game to its end."""

    def spoiled(self, table: Table) -> None:
        """The game is taken back."""

    def ends(self, end: GameEnd) -> None:
        """The game is over, or was spoiled before."""


class Nobody:
    """Looks at nothing."""

    def begins(self, table: Table) -> None:
        pass

    def sees(self, table: Table, turns: Sequence[SeatTurn]) -> None:
        pass

    def spoiled(self, table: Table) -> None:
        pass

    def ends(self, end: GameEnd) -> None:
        pass


class _Film(NamedTuple):
    camera: "Camera"
    video: "VideoWriter"


class Recorder:
    """Films evaluation games of one worker, `evaluation.record_share` of them, drawn by table and count.

    A film costs its game nothing: one that goes wrong is given up, and the folder says why. Games that are spoiled, or that a resumed training goes
    on with in their middle, leave no film.
    """

    def __init__(self, config: RunConfig, spec: EnvSpec, folder: Path, name_of: Callable[[PlayerRef], str]) -> None:
        """folder: of the films;  name_of: who plays, as films name them."""
        self._rules, self._seed, self._spec, self._name_of = config.evaluation, config.seed, spec, name_of
        self._folder = FilmFolder(folder)
        self._films: dict[int, _Film] = {}
        self._folder.remove_leftovers()

    def begins(self, table: Table) -> None:
        plan = table.plan
        if plan.kind != "evaluation" or uniform(self._seed, "film", table.index, plan.game_count) >= self._rules.record_share:
            return
        try:
            self._films[table.index] = self._begun(table)
        except (FilmError, OSError) as error:
            self._folder.note_problem(str(error))

    def sees(self, table: Table, turns: Sequence[SeatTurn]) -> None:
        film = self._films.get(table.index)
        if film is None:
            return
        from pbt.film.camera import counted

        try:
            film.camera.look(turns, counted(table.game))
            if film.video.size_bytes > self._most_bytes:
                raise FilmError(f"the film of {table.where} was given up: it alone is larger than evaluation.record_mb = {self._rules.record_mb}")
        except (FilmError, OSError) as error:
            self._give_up(table.index, error)

    def spoiled(self, table: Table) -> None:
        film = self._films.pop(table.index, None)
        if film is not None:
            film.video.close(keep=False)

    def ends(self, end: GameEnd) -> None:
        film = self._films.get(end.table)
        if film is None:
            return
        try:
            film.camera.ends(end, voided=False)
            film.video.path = film.video.path.with_name(FilmName(end.table, end.plan.game_count, end.trajectory_hash).file)
            film.video.close(keep=True)
            del self._films[end.table]
            self._folder.tidy(self._rules.record_films, self._most_bytes)
        except (FilmError, OSError) as error:
            self._give_up(end.table, error)

    @property
    def _most_bytes(self) -> int:
        return self._rules.record_mb * MB

    def _begun(self, table: Table) -> _Film:
        """Raises: FilmError, OSError."""
        from pbt.film.camera import Camera, Eyes, pace_of
        from pbt.film.picture import Painter
        from pbt.film.video import SMALL, VideoWriter

        self._folder.path.mkdir(parents=True, exist_ok=True)
        eyes, pace = Eyes(self._spec.name, table.game), pace_of(self._spec.tics_per_s, None)
        painter = Painter(len(eyes.seats), eyes.height, eyes.width, max(1, round(TILE_HEIGHT / eyes.height)))
        place = self._folder.path / f"{table.index}-{table.plan.game_count}{SUFFIX}"
        video = VideoWriter(place, painter.size, pace.ticks_per_s, SMALL)
        camera = Camera(table.game.seat_names, eyes, painter, video, pace)
        camera.begins([self._name_of(seat.player) for seat in table.plan.seats], range(len(table.plan.seats)), f"table {table.index}")
        return _Film(camera, video)

    def _give_up(self, table: int, error: Exception) -> None:
        film = self._films.pop(table, None)
        if film is not None:
            film.video.close(keep=False)
        self._folder.note_problem(str(error))


def check_recording(config: RunConfig, game: Game, source: str) -> None:
    """Raises: ConfigError where games are to be recorded and cannot be: they show no image, or the extra `video` is not installed."""
    share = config.evaluation.record_share
    if share == 0.0:
        return
    try:
        require_video()
        from pbt.film.camera import Eyes

        Eyes(config.env.name, game)
    except FilmError as error:
        raise ConfigError(source, [f"evaluation.record_share = {share:g}: {error}; or set it to 0"]) from error
