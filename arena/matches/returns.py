"""Returns of one player over episodes.

In games of one seat it plays alone; at larger tables the other players act at random.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from arena.guests.player import GuestError
from arena.guests.program import FORFEIT_PREFIX
from arena.matches.game_list import PlannedGames, Progress, is_spoiled, play_all
from arena.matches.tables import DEFAULT_TABLES, FrozenTables, PlannedGame, planned_game
from arena.players.resolve import RANDOM, ResolvedPlayer, make_game
from arena.stats.intervals import mean_interval
from pbt.envs.contract import EnvSpec, Game
from pbt.errors import PlayerError
from pbt.records import PlayerRef, SeatRecord, is_voided
from pbt.seeding import integer
from pbt.transport.messages import GameEnd

DEFAULT_EPISODES = 100


@dataclass(frozen=True, slots=True)
class Returns:
    """The episodes of one player.

    player   the player
    seed     of the episodes
    planned  number of episodes that were planned
    greedy   the player took its most likely actions
    returns  unshaped sum of the player's rewards, by episode
    points   the game's own count for the player (kills, goals), by episode; None where it has none
    steps    decisions of all seats, by episode
    seats    names of the seats that the player took in turn
    others   number of seats that `random` took
    errors   the reason of each try that the game spoiled by raising; such episodes were played
             again
    interim  Ctrl-C ended it before all planned episodes were played
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
    interim: bool

    @property
    def spoiled(self) -> bool:
        """Too many episodes raised, so the others may be a biased choice."""
        return is_spoiled(len(self.errors), self.planned)

    @property
    def mean_return(self) -> float:
        return float(np.mean(self.returns))

    @property
    def return_interval(self) -> tuple[float, float] | None:
        """95 % interval of the mean, by Student's t; None for one episode, or equal ones."""
        return mean_interval(self.returns)

    def lead_over(self, other: "Returns") -> tuple[float, float, float] | None:
        """(mean, low, high) of how much more this player returned than `other`.

        Episodes of equal seeds and seats are compared; None where these differ, or all leads are
        equal.
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
    """Play episodes; nothing is recorded. The player takes the seats of its role in turn.

    Equal player, seed and settings give equal episodes. env: as `resolve_players` gives it.
    Ctrl-C ends it early; before the first finished episode it raises KeyboardInterrupt.
    Raises: PlayerError when the game has no seat for the player, EnvOptionsError for options the
    game does not take, SnapshotError for unusable weights, EnvError when the game keeps raising,
    GuestError for a program's first fault.
    """
    game = make_game(env, player.env_options)
    seats = _own_seats(game, player)
    random_player = ResolvedPlayer(
        PlayerRef("scripted", RANDOM), RANDOM, player.env_name, player.env_options
    )
    game_list = PlannedGames(
        episodes, lambda index: _planned(index, seed, seats, len(game.seat_names), greedy)
    )
    frozen_tables = FrozenTables(
        env, game, (player, random_player), min(tables, episodes), seed, game_list.next_game
    )
    episodes_played = _Episodes(seats)
    with closing(frozen_tables):
        complete = play_all(frozen_tables, game_list, episodes_played.take, on_progress)
    if not episodes_played.ends:
        raise KeyboardInterrupt
    return Returns(
        player=player,
        seed=seed,
        planned=episodes,
        greedy=greedy,
        returns=episodes_played.returns,
        points=episodes_played.points,
        steps=episodes_played.steps,
        seats=tuple(game.seat_names[seat] for seat in seats),
        others=len(game.seat_names) - 1,
        errors=tuple(episodes_played.errors),
        interim=not complete,
    )


class _Episodes:
    """Finished episodes by index in the plan, from the player's side.

    seats  the seats that the player takes in turn
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
        """The game's own count by episode; None unless every episode has one."""
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
            f"{player.label} plays the role {player.role}, which {player.env_name} no longer has; "
            f"its roles are {roles}; choose another player"
        )
    return seats


def _planned(
    index: int, seed: int, seats: Sequence[int], table_size: int, greedy: bool
) -> PlannedGame:
    """Episode `index`. All seats that the player takes in turn are played on one seed."""
    own = seats[index % len(seats)]
    game_seed = integer(seed, "evaluate", index // len(seats), bits=31)
    sitting = tuple(0 if seat == own else 1 for seat in range(table_size))
    return planned_game(sitting, index, game_seed, ("evaluate", seed, index), greedy=greedy)
