"""Films: games of frozen players that are played to make a video of what the seats see."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.matches.balance import rotated
from arena.matches.game_faults import GameFaults, faults_folder
from arena.matches.game_list import PlannedGames, turn
from arena.matches.tables import FrozenTables, PlannedGame, planned_game
from arena.players.resolve import ResolvedPlayer
from arena.signals import SignalControl
from pbt.envs.contract import Action, EnvSpec, Game, Outcome, SeatTurn
from pbt.errors import PlayerError
from pbt.film.camera import Camera, Eyes, Pace, counted, pace_of
from pbt.film.extra import FilmError
from pbt.film.folder import SUFFIX
from pbt.film.picture import Painter
from pbt.film.video import VideoWriter
from pbt.records import is_voided
from pbt.seeding import integer
from pbt.transport.messages import GameEnd

Filming = Callable[[int, int, float], None]
"""Called after every step with (games played, games planned, seconds of video so far)."""


@dataclass(frozen=True, slots=True)
class FilmedEnd:
    """One game of a film.

    end      how the game ended
    sitting  index of the player in each seat
    start_s  where the game begins in the video
    end_s    where the game ends in the video
    """

    end: GameEnd
    sitting: tuple[int, ...]
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Film:
    """A video of games.

    path      of the video; None when it was ended before the first picture: then there is no file
    games     the games that were played to their end
    planned   number of games that were asked for
    voided    the reason of each try that the game spoiled; such tries are in the film, and were
              played again
    pictures  number of pictures in the video
    seconds   length of the video
    width     of a picture, in pixels
    height    of a picture, in pixels
    interim   Ctrl-C ended it: the video is whole, its last game is not
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

    env          the game, as `resolve_players` gives it
    games        number of games; in games of one seat as many for every player, on the same seeds
    scale        pixels of the video for one pixel of an image
    moves_per_s  speed of the video; None for real time, or ten where the game has no real time
    force        `out` may be replaced
    One Ctrl-C (or SIGTERM) ends the film with a whole video of what was played; two leave none.
    Raises: FilmError when the game shows no image, for a wrong number of players, and when the file
    cannot be written; PlayerError for players whose roles leave a seat empty; EnvError when a game
    was voided at every try; SnapshotError for unusable weights; GuestError for a program that does
    not start.
    """
    check_place(out, force=force)
    with closing(env.make(**players[0].env_options)) as game:
        eyes, seatings, seat_names = Eyes(env.name, game), _sittings(game, players), game.seat_names
    alone, folder = len(seat_names) == 1, faults_folder(players)
    planned = games * len(seatings) if alone else games
    game_list = PlannedGames(
        planned, lambda index: _planned(index, seatings, seed, greedy, alone=alone)
    )
    painter = Painter(len(eyes.seats), eyes.height, eyes.width, scale)
    pace = pace_of(env.tics_per_s, moves_per_s)
    played: list[FilmedEnd] = []
    voided: list[str] = []
    with SignalControl() as control, VideoWriter(out, painter.size, pace.ticks_per_s) as video:
        camera = Camera(seat_names, eyes, painter, video, pace)
        filmed_env = replace(env, make=filmed(env.make, camera.look))
        next_game = _announced(game_list, camera, players, planned)
        first = players[0]
        game, faults = env.make(**first.env_options), GameFaults(folder, env, first)
        with closing(FrozenTables(filmed_env, game, players, 1, seed, next_game, faults)) as tables:
            while game_list.left and not control.stop_requested():
                for end in turn(tables):
                    camera.ends(end, is_voided(end.reason))
                    if is_voided(end.reason):
                        voided.append(end.reason)
                    else:
                        sitting = seatings[game_list.index(end) % len(seatings)]
                        played.append(_filmed_end(end, sitting, camera, pace))
                    game_list.ended(end, faults.take(end.plan.game_count))
                if on_progress is not None:
                    on_progress(planned - game_list.left, planned, video.seconds)
    return Film(
        out if video.pictures else None,
        tuple(played),
        planned,
        tuple(voided),
        video.pictures,
        video.seconds,
        *painter.size,
        interim=bool(game_list.left),
    )


def _filmed_end(end: GameEnd, sitting: tuple[int, ...], camera: Camera, pace: Pace) -> FilmedEnd:
    """The game that the camera has just seen to its end."""
    times_s = pace.seconds(camera.first_tick), pace.seconds(camera.last_tick)
    return FilmedEnd(end, sitting, *times_s)


def _announced(
    game_list: PlannedGames, camera: Camera, players: Sequence[ResolvedPlayer], planned: int
) -> Callable[[], PlannedGame | None]:
    """`PlannedGames.next_game`, which also tells the camera that the game begins."""

    def next_game() -> PlannedGame | None:
        game = game_list.next_game()
        if game is not None:
            names = [players[player].label for player in game.sitting]
            camera.begins(
                names, game.sitting, f"game {game.plan.game_count % planned + 1} of {planned}"
            )
        return game

    return next_game


def _sittings(game: Game, players: Sequence[ResolvedPlayer]) -> tuple[tuple[int, ...], ...]:
    """The player of each seat, by game. Players change seats in turn; one seat is played alone.

    Raises: FilmError, PlayerError.
    """
    seats, named = len(game.seat_names), len(players)
    if seats == 1:
        return tuple((player,) for player in range(named))
    if named != seats:
        players_were = "1 player was" if named == 1 else f"{named} players were"
        raise FilmError(
            f"{players[0].env_name} has {seats} seats, and {players_were} named; expected a player "
            "for every seat, the same one may be named again"
        )
    roles = [game.roles[role].name for role in game.seat_roles]
    changed = (rotated(tuple(range(named)), turn) for turn in range(named))
    possible = tuple(
        turned
        for turned in changed
        if all(players[player].plays(role) for player, role in zip(turned, roles, strict=True))
    )
    if possible:
        return possible
    plays = " and ".join(f"{player.label} plays {player.role or 'any role'}" for player in players)
    raise PlayerError(
        f"{plays}; {players[0].env_name} seats {', '.join(roles)}: name players in the order of "
        "their seats"
    )


def _planned(
    index: int, seatings: Sequence[tuple[int, ...]], seed: int, greedy: bool, *, alone: bool
) -> PlannedGame:
    """Game `index` of the film. alone: every player has a game of its own on every seed."""
    game_seed = integer(seed, "film", index // len(seatings) if alone else index, bits=31)
    sitting = seatings[index % len(seatings)]
    return planned_game(sitting, index, game_seed, ("film", seed, index), greedy=greedy)


def check_place(path: Path, *, force: bool) -> None:
    """Raises: FilmError when no video can be written to `path`. force: it may be replaced."""
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
    """A game that shows its turns to a camera; everything else is passed on to the wrapped game."""

    def __init__(
        self, game: Game, look: Callable[[Sequence[SeatTurn], Sequence[float] | None], None]
    ) -> None:
        self._game, self._look = game, look
        self.roles, self.seat_names = game.roles, game.seat_names
        self.seat_roles, self.reward_terms = game.seat_roles, game.reward_terms

    def reset(self, seed: int) -> list[SeatTurn]:
        return self._shown(self._game.reset(seed))

    def step(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
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
    """`EnvSpec.make`, whose games show their turns to `look`."""

    def make_filmed(**options: Any) -> Game:
        return FilmedGame(make(**options), look)

    return make_filmed
