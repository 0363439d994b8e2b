"""Games of frozen players, played to be filmed."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.matches.game_list import PlannedGames, turn
from arena.matches.plan import sittings
from arena.matches.tables import FrozenTables, PlannedGame
from arena.players.resolve import ResolvedPlayer, make_game
from arena.signals import SignalControl
from pbt.envs.contract import EnvSpec, Game, Outcome, SeatTurn
from pbt.film.camera import Camera, Eyes, counted, pace_of
from pbt.film.extra import FilmError
from pbt.film.folder import SUFFIX
from pbt.film.picture import Painter
from pbt.film.video import VideoWriter
from pbt.records import is_voided
from pbt.seeding import integer
from pbt.transport.messages import GameEnd, GamePlan

Filming = Callable[[int, int, float], None]
"""(games played, games planned, seconds of video so far), after every step."""


@dataclass(frozen=True, slots=True)
class FilmedEnd:
    """A game of a film. sitting: index of the player in each seat;  start_s, end_s: where in the
    video it is played
    """

    end: GameEnd
    sitting: tuple[int, ...]
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Film:
    """What was filmed.

    path      of the video; None: it was ended before there was anything to see, and there is none
    games     that were played to their end;  planned: how many were asked for
    voided    what was said of each try that the game spoiled; those are in the film, and were
              played again
    interim   Ctrl-C ended it; the video is whole, its last game is not
    """

    path: Path | None
    games: tuple[FilmedEnd, ...]
    planned: int
    voided: tuple[str, ...]
    pictures: int
    seconds: float
    width: int
    height: int
    interim: bool


def film(
    players: Sequence[ResolvedPlayer],
    env: EnvSpec,
    out: Path,
    *,
    games: int = 1,
    seed: int = 1,
    greedy: bool = False,
    scale: int | None = None,
    moves_per_s: float | None = None,
    force: bool = False,
    on_progress: Filming | None = None,
) -> Film:
    """Play games and write what the seats see to `out`. Nothing is recorded in the league.

    env    the game, as `resolve_players` gives it;  games: in games of one seat for every player,
           on the same seeds
    scale  pixels of the video to one of an image;  moves_per_s: instead of real time, or, where the
           game has none, instead of ten
    force  `out` may be replaced
    Ctrl-C (or SIGTERM) once ends it with a whole video of what was played, twice leaves none.
    Raises: FilmError when the game shows no image, for another number of players than seats, and
    when the file cannot be written; PlayerError for
    players whose roles leave a seat empty; EnvError when a game was voided at every try,
    SnapshotError for unusable weights, GuestError for a
    program that does not start.
    """
    check_place(out, force=force)
    with closing(make_game(env, players[0].env_options)) as game:
        eyes, sitting, seat_names = Eyes(env.name, game), _sittings(game, players), game.seat_names
    alone = len(seat_names) == 1
    planned = games * len(sitting) if alone else games
    schedule = PlannedGames(
        planned, lambda index: _planned(index, sitting, seed, greedy, alone=alone)
    )
    painter, pace = (
        Painter(len(eyes.seats), eyes.height, eyes.width, scale),
        pace_of(env.tics_per_s, moves_per_s),
    )
    played: list[FilmedEnd] = []
    voided: list[str] = []
    with SignalControl() as control, VideoWriter(out, painter.size, pace.ticks_per_s) as video:
        camera = Camera(seat_names, eyes, painter, video, pace)
        seen, next_game = (
            replace(env, make=filmed(env.make, camera.look)),
            _announced(schedule, camera, players, planned),
        )
        with closing(
            FrozenTables(seen, make_game(env, players[0].env_options), players, 1, seed, next_game)
        ) as tables:
            while schedule.left and not control.stop_requested():
                for end in turn(tables):
                    camera.ends(end, is_voided(end.reason))
                    if is_voided(end.reason):
                        voided.append(end.reason)
                    else:
                        times_s = pace.seconds(camera.first_tick), pace.seconds(camera.last_tick)
                        played.append(
                            FilmedEnd(end, sitting[schedule.index(end) % len(sitting)], *times_s)
                        )
                    schedule.ended(end)
                if on_progress is not None:
                    on_progress(planned - schedule.left, planned, video.seconds)
    path = out if video.pictures else None
    return Film(
        path,
        tuple(played),
        planned,
        tuple(voided),
        video.pictures,
        video.seconds,
        *painter.size,
        interim=bool(schedule.left),
    )


def _announced(
    schedule: PlannedGames, camera: Camera, players: Sequence[ResolvedPlayer], planned: int
) -> Callable[[], PlannedGame | None]:
    """The schedule's next game, of which the camera hears first."""

    def next_game() -> PlannedGame | None:
        found = schedule.next_game()
        if found is not None:
            names = [players[player].label for player in found.sitting]
            camera.begins(
                names, found.sitting, f"game {found.plan.game_count % planned + 1} of {planned}"
            )
        return found

    return next_game


def _sittings(game: Game, players: Sequence[ResolvedPlayer]) -> tuple[tuple[int, ...], ...]:
    """The player of each seat, by game: everybody sits everywhere in turn, and alone where there
    is one seat. Raises: FilmError, PlayerError.
    """
    seats, given = len(game.seat_names), len(players)
    if seats == 1:
        return tuple((player,) for player in range(given))
    if given != seats:
        named = "1 player was" if given == 1 else f"{given} players were"
        raise FilmError(
            f"{players[0].env_name} has {seats} seats, and {named} named; expected a player "
            "for every seat, the same one may be named again"
        )
    return sittings(game, players)


def _planned(
    index: int, sitting: Sequence[tuple[int, ...]], seed: int, greedy: bool, *, alone: bool
) -> PlannedGame:
    """Game `index`. alone: the players have a game each on every seed."""
    game_seed = integer(seed, "film", index // len(sitting) if alone else index, bits=31)
    plan = GamePlan(
        game_count=index,
        kind="evaluation",
        seed=game_seed,
        seats=(),
        noise=("film", seed, index),
        greedy=greedy,
    )
    return PlannedGame(sitting[index % len(sitting)], plan)


def check_place(path: Path, *, force: bool) -> None:
    """Raises: FilmError when no video can be written there; force: another one may stand there."""
    if path.suffix != SUFFIX:
        raise FilmError(
            f"--out {path}: found a name that ends with {path.suffix or 'nothing'!r}; "
            f"expected one that ends with {SUFFIX}"
        )
    if path.is_dir():
        raise FilmError(
            f"--out {path}: it is a folder; name a file in it: --out {path / 'film.mp4'}"
        )
    if not path.parent.is_dir():
        raise FilmError(
            f"--out {path}: there is no folder {path.parent}; make it, or name another one"
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FilmError(
            f"--out {path}: the folder {path.parent} cannot be written to; name another one"
        )
    if path.exists() and not force:
        raise FilmError(f"--out {path}: it exists; name another file, or add --force to replace it")


class FilmedGame:
    """A game that shows a camera what its seats learn, and is otherwise the game itself."""

    def __init__(
        self, game: Game, look: Callable[[Sequence[SeatTurn], Sequence[float] | None], None]
    ) -> None:
        self._game, self._look = game, look
        self.roles, self.seat_names = game.roles, game.seat_names
        self.seat_roles, self.reward_terms = game.seat_roles, game.reward_terms

    def reset(self, seed: int) -> list[SeatTurn]:
        return self._shown(self._game.reset(seed))

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        return self._shown(self._game.step(actions))

    def _shown(self, turns: list[SeatTurn]) -> list[SeatTurn]:
        self._look(turns, counted(self._game))
        return turns

    def outcome(self) -> Outcome:
        return self._game.outcome()

    def close(self) -> None:
        self._game.close()


def filmed(
    make: Callable[..., Game], look: Callable[[Sequence[SeatTurn], Sequence[float] | None], None]
) -> Callable[..., Game]:
    """`EnvSpec.make` whose games are looked at."""

    def make_filmed(**options: Any) -> Game:
        return FilmedGame(make(**options), look)

    return make_filmed
