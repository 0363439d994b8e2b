"""Returns of one player over episodes.

In games of one seat it plays alone. At larger tables it takes one seat after the other, or, where
returns are what counts, all seats that it can play; `random` takes the rest.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from arena.guests.player import GuestError
from arena.guests.program import FORFEIT_PREFIX
from arena.matches.deciding import objective_of
from arena.matches.game_faults import GameFaults, faults_folder
from arena.matches.game_list import PlannedGames, Progress, is_spoiled, play_all
from arena.matches.lengths import EPISODES
from arena.matches.tables import DEFAULT_TABLES, FrozenTables, PlannedGame, planned_game
from arena.players.resolve import RANDOM, ResolvedPlayer
from arena.stats.intervals import mean_interval
from pbt.envs.contract import EnvSpec, Game
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef, SeatRecord, is_voided
from pbt.seeding import integer
from pbt.transport.messages import GameEnd


@dataclass(frozen=True, slots=True)
class Returns:
    """The episodes of one player.

    player   the player
    seed     of the episodes
    planned  number of episodes that were planned
    greedy   the player took its most likely actions
    returns  unshaped sum of the player's rewards, by episode; in several seats their mean
    points   the game's own count for the player (kills, goals), as `returns`; None where it has
             none
    steps    decisions of all seats, by episode
    seats    names of the seats that the player took
    together it took them all in every episode, instead of one after the other
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
    together: bool
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
            or (self.seed, self.seats, self.together, self.planned)
            != (other.seed, other.seats, other.together, other.planned)
        ):
            return None
        leads = [own - its for own, its in zip(self.returns, other.returns, strict=True)]
        interval = mean_interval(leads)
        return None if interval is None else (float(np.mean(leads)), *interval)


def evaluate_player(
    player: ResolvedPlayer,
    env: EnvSpec,
    *,
    episodes: int = EPISODES,
    seed: int = 1,
    greedy: bool = False,
    tables: int = DEFAULT_TABLES,
    on_progress: Progress | None = None,
    objective: ObjectiveKind | None = None,
) -> Returns:
    """Play episodes; nothing is recorded. The player takes the seats of its role in turn.

    Equal player, seed and settings give equal episodes. env: as `resolve_players` gives it.
    objective: with "return", the player takes all its seats at once; None: as `objective_of`.
    Ctrl-C ends it early; before the first finished episode it raises KeyboardInterrupt.
    Raises: PlayerError when the game has no seat for the player, EnvOptionsError for options the
    game does not take, SnapshotError for unusable weights, EnvError when the game keeps raising,
    GuestError for a program's first fault.
    """
    game = env.make(**player.env_options)
    turns = _turns(game, player, objective or objective_of(env, game, [player]))
    game_list = PlannedGames(
        episodes, lambda index: _planned(index, seed, turns, len(game.seat_names), greedy)
    )
    frozen_tables = _tables_of(env, game, player, min(tables, episodes), seed, game_list)
    episodes_played = _Episodes(turns)
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
        seats=tuple(game.seat_names[seat] for own in turns for seat in own),
        together=len(turns[0]) > 1,
        others=len(game.seat_names) - len(turns[0]),
        errors=tuple(episodes_played.errors),
        interim=not complete,
    )


def _tables_of(
    env: EnvSpec, game: Game, player: ResolvedPlayer, tables: int, seed: int, games: PlannedGames
) -> FrozenTables:
    """The tables at which a player plays with `random`."""
    players = (player, _random_beside(player))
    faults = GameFaults(faults_folder(players), env, player)
    return FrozenTables(env, game, players, tables, seed, games.next_game, faults)


class _Episodes:
    """Finished episodes by index in the plan, from the player's side.

    turns  the seats of the player, by episode in turn
    """

    def __init__(self, turns: Sequence[tuple[int, ...]]) -> None:
        self._turns = turns
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

    def _own(self) -> list[list[SeatRecord]]:
        """The player's seats, by episode."""
        return [
            [end.seats[seat] for seat in self._turns[index % len(self._turns)]]
            for index, end in sorted(self.ends.items())
        ]

    @property
    def returns(self) -> tuple[float, ...]:
        return tuple(fmean(seat.returns for seat in seats) for seats in self._own())

    @property
    def points(self) -> tuple[float, ...] | None:
        """The game's own count by episode; None unless every episode has one."""
        points = [
            [seat.points for seat in seats if seat.points is not None] for seats in self._own()
        ]
        return tuple(map(fmean, points)) if all(points) else None

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(end.steps for _, end in sorted(self.ends.items()))


def _random_beside(player: ResolvedPlayer) -> ResolvedPlayer:
    ref = PlayerRef("scripted", RANDOM)
    return ResolvedPlayer(ref, RANDOM, player.env_name, player.env_options)


def _turns(game: Game, player: ResolvedPlayer, objective: ObjectiveKind) -> list[tuple[int, ...]]:
    """The seats of the player in each episode of a turn.

    Raises: PlayerError when it can take none.
    """
    seats = [
        seat for seat, role in enumerate(game.seat_roles) if player.plays(game.roles[role].name)
    ]
    if not seats:
        roles = ", ".join(role.name for role in game.roles)
        raise PlayerError(
            f"{player.label} plays the role {player.role}, which {player.env_name} no longer has; "
            f"its roles are {roles}; choose another player"
        )
    return [tuple(seats)] if objective == "return" else [(seat,) for seat in seats]


def _planned(
    index: int, seed: int, turns: Sequence[tuple[int, ...]], table_size: int, greedy: bool
) -> PlannedGame:
    """Episode `index`. All turns of the player are played on one seed."""
    own = turns[index % len(turns)]
    game_seed = integer(seed, "evaluate", index // len(turns), bits=31)
    sitting = tuple(0 if seat in own else 1 for seat in range(table_size))
    return planned_game(sitting, index, game_seed, ("evaluate", seed, index), greedy=greedy)
