"""Returns of one player over episodes: in games of one seat alone, at larger tables among
players that act at random.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from arena.guests.player import GuestError
from arena.guests.program import FORFEIT_PREFIX
from arena.matches.game_list import PlannedGames, Progress, is_spoiled, play_all
from arena.matches.tables import DEFAULT_TABLES, FrozenTables, PlannedGame
from arena.players.resolve import RANDOM, ResolvedPlayer, make_game
from arena.stats.score import mean_interval
from pbt.envs.contract import EnvSpec, Game
from pbt.errors import PlayerError
from pbt.records import PlayerRef, SeatRecord, is_voided
from pbt.seeding import integer
from pbt.transport.messages import GameEnd, GamePlan

DEFAULT_EPISODES = 100


@dataclass(frozen=True, slots=True)
class Returns:
    """returns: unshaped sum of rewards of the player, by episode;  steps: decisions of all seats,
    by episode

    points   what the game counted for the player (kills, goals), by episode; None where it keeps no
             count
    seats    names of the seats the player took in turn;  others: how many seats were taken by
             `random`
    errors   what the environment said in each try that it spoiled by raising; those episodes were
             played again
    interim  Ctrl-C ended it before all `planned` episodes were played
    """

    player: ResolvedPlayer
    seed: int
    planned: int
    greedy: bool
    returns: tuple[float, ...]
    points: tuple[float, ...] | None
    steps: tuple[int, ...]
    seats: tuple[str, ...]
    others: int
    errors: tuple[str, ...]
    seconds: float
    interim: bool

    @property
    def spoiled(self) -> bool:
        """So many episodes raised that the rest may be a biased choice."""
        return is_spoiled(len(self.errors), self.planned)

    @property
    def mean_return(self) -> float:
        return float(np.mean(self.returns))

    @property
    def return_interval(self) -> tuple[float, float] | None:
        """95 %, Student's t over episodes; None for a single one, or when all are equal."""
        return mean_interval(self.returns)

    def lead_over(self, other: "Returns") -> tuple[float, float, float] | None:
        """(mean, low, high) of how much more it returned in episodes of equal seeds and seats;
        None where these differ, or all leads are equal.
        """
        if (
            self.interim
            or other.interim
            or (self.seed, self.seats, self.planned) != (other.seed, other.seats, other.planned)
        ):
            return None
        leads = [own - its for own, its in zip(self.returns, other.returns, strict=True)]
        interval = mean_interval(leads)
        return None if interval is None else (float(np.mean(leads)), *interval)


def evaluate_player(
    player: ResolvedPlayer,
    env: EnvSpec,
    *,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 1,
    greedy: bool = False,
    tables: int = DEFAULT_TABLES,
    on_progress: Progress | None = None,
) -> Returns:
    """Play; nothing is recorded. Equal player, seed and settings give equal episodes. The player
    takes the seats of its role in turn.

    env: the game, as `resolve_players` gives it. Ctrl-C ends it early; before the first finished
    episode it raises KeyboardInterrupt. Raises: PlayerError when the game has no seat for the
    player, EnvOptionsError for options it does not take, SnapshotError for unusable weights,
    EnvError when it keeps raising, GuestError for a program's first fault.
    """
    game = make_game(env, player.env_options)
    seats = _own_seats(game, player)
    stranger = ResolvedPlayer(
        PlayerRef("scripted", RANDOM), RANDOM, player.env_name, player.env_options
    )
    schedule = PlannedGames(
        episodes, lambda index: _planned(index, seed, seats, len(game.seat_names), greedy)
    )
    playing = FrozenTables(
        env, game, (player, stranger), min(tables, episodes), seed, schedule.next_game
    )
    lived, started = _Episodes(seats), time.monotonic()
    with closing(playing):
        complete = play_all(playing, schedule, lived.take, on_progress)
    if not lived.ends:
        raise KeyboardInterrupt
    return Returns(
        player=player,
        seed=seed,
        planned=episodes,
        greedy=greedy,
        returns=lived.returns,
        points=lived.points,
        steps=lived.steps,
        seats=tuple(game.seat_names[seat] for seat in seats),
        others=len(game.seat_names) - 1,
        errors=tuple(lived.errors),
        seconds=time.monotonic() - started,
        interim=not complete,
    )


class _Episodes:
    """Finished episodes by their place in the plan, as the player lived them. seats: that it
    takes in turn.
    """

    def __init__(self, seats: Sequence[int]) -> None:
        self._seats = seats
        self.ends: dict[int, GameEnd] = {}
        self.errors: list[str] = []

    def take(self, index: int, end: GameEnd) -> None:
        if end.reason.startswith(FORFEIT_PREFIX):
            raise GuestError(
                f"{end.reason.removeprefix(FORFEIT_PREFIX)}; half an episode has no return"
            )
        if is_voided(end.reason):
            self.errors.append(end.reason)
        else:
            self.ends[index] = end

    def _own(self) -> list[SeatRecord]:
        return [
            end.seats[self._seats[index % len(self._seats)]]
            for index, end in sorted(self.ends.items())
        ]

    @property
    def returns(self) -> tuple[float, ...]:
        return tuple(seat.returns for seat in self._own())

    @property
    def points(self) -> tuple[float, ...] | None:
        """None unless the game counted in every episode."""
        points = tuple(seat.points for seat in self._own() if seat.points is not None)
        return points if len(points) == len(self.ends) else None

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(end.steps for _, end in sorted(self.ends.items()))


def _own_seats(game: Game, player: ResolvedPlayer) -> list[int]:
    seats = [
        seat for seat, role in enumerate(game.seat_roles) if player.plays(game.roles[role].name)
    ]
    if not seats:
        roles = ", ".join(role.name for role in game.roles)
        raise PlayerError(
            f"{player.label} plays {player.role}; {player.env_name} now has {roles}: its "
            "role is gone, choose another player"
        )
    return seats


def _planned(
    index: int, seed: int, seats: Sequence[int], table_size: int, greedy: bool
) -> PlannedGame:
    """Episode `index`: one seed for every seat the player takes in turn."""
    own = seats[index % len(seats)]
    game_seed = integer(seed, "evaluate", index // len(seats), bits=31)
    plan = GamePlan(
        game_count=index,
        kind="evaluation",
        seed=game_seed,
        seats=(),
        noise=("evaluate", seed, index),
        greedy=greedy,
    )
    return PlannedGame(tuple(0 if seat == own else 1 for seat in range(table_size)), plan)
