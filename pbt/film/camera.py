"""Films a game while others step it: makes the pictures of what its seats see."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pbt.envs.contract import Counting, Game, SeatTurn
from pbt.envs.spaces import ObservationCodec
from pbt.envs.viewed_game import own_observation, own_roles
from pbt.film.extra import FilmError
from pbt.film.picture import Painter, Picture, Tile, as_rgb
from pbt.film.video import VideoWriter
from pbt.transport.messages import GameEnd

CHANNELS = (1, 3, 4)
MOVES_PER_S = 10
# Seconds that the last picture of a game stays.
_HOLD_S = 2


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the time of a video goes.

    ticks_per_s  ticks of the video per second
    tics         a tick is one of the engine's tics, so a game lasts as long as it was played;
                 false: a tick is a move
    """

    ticks_per_s: Fraction
    tics: bool

    def seconds(self, ticks: int) -> float:
        return float(ticks / self.ticks_per_s)

    def clock(self, ticks: int) -> str:
        """The time as text, such as "0:12.3  tic 431" or "move 12"."""
        if not self.tics:
            return f"move {ticks}"
        tenths = int(ticks * 10 / self.ticks_per_s)
        return f"{tenths // 600}:{tenths // 10 % 60:02}.{tenths % 10}  tic {ticks}"


def pace_of(tics_per_s: float | None, moves_per_s: float | None) -> Pace:
    """The pace of a film.

    tics_per_s   of the game's engine, where it has one
    moves_per_s  asked for instead of real time
    """
    if tics_per_s is not None and moves_per_s is None:
        return Pace(Fraction(tics_per_s).limit_denominator(1000), tics=True)
    return Pace(Fraction(moves_per_s or MOVES_PER_S).limit_denominator(1000), tics=False)


class Eyes:
    """Finds the image in what a seat observes, as the game gives it: `env.resize` does not matter.

    seats   the seats that see an image
    height  of the largest image
    width   of the largest image
    Raises: FilmError when no seat sees one.
    """

    def __init__(self, env_name: str, game: Game) -> None:
        self._codecs = [ObservationCodec(role.observation_space) for role in own_roles(game)]
        self._roles = game.seat_roles
        self._images = [
            next(
                (
                    at
                    for at, leaf in enumerate(codec.leaves)
                    if leaf.dtype == "uint8" and len(leaf.shape) == 3 and leaf.shape[2] in CHANNELS
                ),
                None,
            )
            for codec in self._codecs
        ]
        self.seats = tuple(
            seat for seat, role in enumerate(game.seat_roles) if self._images[role] is not None
        )
        if not self.seats:
            leaves = ", ".join(
                f"{leaf.name} {leaf.dtype} {list(leaf.shape)}"
                for codec in self._codecs
                for leaf in codec.leaves
            )
            boards = "boards and moves of a stored game are shown by `arena replay match:1:0`"
            raise FilmError(
                f"{env_name}: no seat sees an image, found {leaves}; expected uint8 [height, "
                f"width, 1, 3 or 4]; {boards}"
            )
        shapes = [
            codec.leaves[at].shape
            for codec, at in zip(self._codecs, self._images, strict=True)
            if at is not None
        ]
        self.height, self.width = (max(shape[side] for shape in shapes) for side in (0, 1))

    def see(self, turn: SeatTurn) -> Picture | None:
        at = self._images[self._roles[turn.seat]]
        observation = own_observation(turn)
        if at is None or observation is None:
            return None
        return as_rgb(self._codecs[self._roles[turn.seat]].split(observation)[at]).copy()


def score_text(points: float | None, returned: float, *, alone: bool) -> str:
    """The score of a seat as text.

    alone  the table has one seat, so the return is shown whatever else is counted
    """
    shown = [] if points is None else [f"points {points:.4g}"]
    return "   ".join([*shown, f"return {returned:.4g}"] if points is None or alone else shown)


class Camera:
    """Makes a picture of every moment of the games at one table.

    Tiles stand in the order of the players, wherever they sit. A game that was voided is in the
    film as well, and the film says so.
    """

    def __init__(
        self,
        seat_names: Sequence[str],
        eyes: Eyes,
        painter: Painter,
        video: VideoWriter,
        pace: Pace,
    ) -> None:
        self._seat_names, self._eyes = seat_names, eyes
        self._painter, self._video, self._pace = painter, video, pace
        self._tick = -1

    def begins(self, names: Sequence[str], sitting: Sequence[int], title: str) -> None:
        """Begin the next game.

        names    of the players, by seat
        sitting  index of the player in each seat
        title    such as "game 1 of 2"
        """
        self._names = (
            [f"{name}  ({seat})" for name, seat in zip(names, self._seat_names, strict=True)]
            if len(names) > 1
            else list(names)
        )
        self._order = sorted(self._eyes.seats, key=lambda seat: sitting[seat])
        self._title = title
        self._images: list[Picture | None] = [None] * len(names)
        self._returns = [0.0] * len(names)
        self._points: Sequence[float] | None = None
        self._tick += 1
        self.first_tick = self._tick

    def look(self, turns: Sequence[SeatTurn], points: Sequence[float] | None) -> None:
        """Take a picture of what the seats learned now: after reset, or after a step."""
        started = self._video.last_tick >= self.first_tick
        if started:
            self._tick += max(turn.tics for turn in turns) if self._pace.tics else 1
        for turn in turns:
            image = self._eyes.see(turn)
            self._images[turn.seat] = self._images[turn.seat] if image is None else image
            self._returns[turn.seat] += turn.rewards[0]
        self._points = points
        self._show([self._score(seat) for seat in range(len(self._names))], "")

    def ends(self, end: GameEnd, voided: bool) -> None:
        """Show the result for a moment."""
        places = [
            "" if voided or len(end.seats) == 1 else f"   place {seat.place + 1}"
            for seat in end.seats
        ]
        self._points = (
            self._points
            if any(seat.points is None for seat in end.seats)
            else [seat.points or 0.0 for seat in end.seats]
        )
        scores = [self._score(seat) + place for seat, place in enumerate(places)]
        self.last_tick = self._tick
        for ticks in (1, max(1, round(_HOLD_S * self._pace.ticks_per_s))):
            self._tick += ticks
            self._show(scores, f"   {end.reason}", self.last_tick)

    def _score(self, seat: int) -> str:
        points = None if self._points is None else self._points[seat]
        return score_text(points, self._returns[seat], alone=len(self._names) == 1)

    def _show(self, scores: Sequence[str], said: str, clock_tick: int | None = None) -> None:
        tiles = [Tile(self._images[seat], self._names[seat], scores[seat]) for seat in self._order]
        ticks = (self._tick if clock_tick is None else clock_tick) - self.first_tick
        self._video.add(
            self._painter.paint(tiles, f"{self._title}   {self._pace.clock(ticks)}{said}"),
            self._tick,
        )


def counted(game: Game) -> Sequence[float] | None:
    """What the game has counted so far, by seat; None where it counts nothing."""
    return game.points_now() if isinstance(game, Counting) else None
