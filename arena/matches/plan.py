"""The plan of a match: its seating and the seed of every game, fixed before the first game."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from arena.matches.tables import PlannedGame, planned_game
from arena.players.resolve import ResolvedPlayer, make_game
from pbt.config.running import EvaluationConfig
from pbt.envs.contract import EnvSpec, Game, opens_at_random
from pbt.errors import PlayerError
from pbt.seeding import integer


@dataclass(frozen=True, slots=True)
class Seating:
    """The players' seats in the games of a block.

    A block is a pair of games where two meet, and as many games as players at larger tables.

    sittings  the player of each seat, by game of the block; a single entry where the seats cannot
              be swapped
    paired    the games of a block share their seed
    notes     what a reader of the results should know
    """

    sittings: tuple[tuple[int, ...], ...]
    paired: bool
    notes: tuple[str, ...] = ()

    @property
    def alone(self) -> bool:
        """The game has one seat: each player has a game of its own on every seed."""
        return len(self.sittings[0]) == 1

    @property
    def block(self) -> int:
        """Number of games that count as evidence only together."""
        return len(self.sittings) if self.paired or self.alone else 1

    def sitting(self, index: int) -> tuple[int, ...]:
        """The player of each seat in game `index` of the match."""
        return self.sittings[index % len(self.sittings)]


def seating_of(env: EnvSpec, game: Game, players: Sequence[ResolvedPlayer]) -> Seating:
    """The seating of players by their roles.

    Raises: PlayerError for players of two games, for another number of players than seats, and for
    players whose roles leave a seat empty.
    """
    first = players[0]
    for player in players[1:]:
        if (player.env_name, player.env_options) != (first.env_name, first.env_options):
            played = (
                f"{first.label} plays {first.env_name}, {player.label} plays "
                f"{player.env_name}, or the same with other options"
            )
            raise PlayerError(f"{played}; expected players of one game")
    _check_number(game, players)
    unequal = (
        ()
        if env.replayable
        else (f"{first.env_name} is not replayable: equal seeds do not give equal games",)
    )
    if len(game.seat_roles) == 1:
        alone = tuple(f"{note}, so returns are compared by number alone" for note in unequal)
        return Seating(((0,), (1,)), paired=env.replayable, notes=alone)
    possible = sittings(game, players)
    if len(possible) < len(players):
        note = _fixed_seats(game, players, possible[0])
        return Seating(possible[:1], paired=False, notes=(note,))
    return Seating(
        possible,
        paired=env.replayable,
        notes=tuple(
            f"{note}, so games are not paired; seats still change in turn" for note in unequal
        ),
    )


def _fixed_seats(game: Game, players: Sequence[ResolvedPlayer], sitting: Sequence[int]) -> str:
    """The note on players who cannot swap their seats. sitting: the player of each seat."""
    roles = [game.roles[role].name for role in game.seat_roles]
    seats = ", ".join(
        f"{players[player].label} is {role}" for player, role in zip(sitting, roles, strict=True)
    )
    return (
        f"seats cannot be swapped ({seats}), so games are not paired and the score holds what "
        "the roles give"
    )


def _check_number(game: Game, players: Sequence[ResolvedPlayer]) -> None:
    name, seats, named = players[0].env_name, len(game.seat_roles), len(players)
    if named < 2:
        raise PlayerError(
            f"{players[0].label} is alone; expected two players or more, or `arena evaluate "
            f"{players[0].label}`"
        )
    if named == max(seats, 2):
        if named > 2 and len({player.ref for player in players}) < named:
            raise PlayerError(
                f"the same player twice at a table of {seats} in {name}; expected {seats} "
                "different ones"
            )
        return
    if seats == 1:
        raise PlayerError(
            f"{name} has one seat, and {named} players were named; expected two. `arena evaluate` "
            "shows more of them side by side"
        )
    if seats == 2:
        raise PlayerError(f"{name} has 2 seats, and {named} players were named; expected two")
    alone = f"`arena evaluate {players[0].label}` seats a player among random ones"
    raise PlayerError(
        f"{name} has {seats} seats, and {named} players were named; expected a player for "
        f"every seat; {alone}"
    )


def sittings(game: Game, players: Sequence[ResolvedPlayer]) -> tuple[tuple[int, ...], ...]:
    """Every rotation of the players in which each one plays the role of its seat.

    Raises: PlayerError when there is none.
    """
    number = len(players)
    roles = [game.roles[role].name for role in game.seat_roles]
    turns = [tuple((seat + turn) % number for seat in range(number)) for turn in range(number)]
    possible = tuple(
        turn
        for turn in turns
        if all(players[player].plays(role) for player, role in zip(turn, roles, strict=True))
    )
    if possible:
        return possible
    plays = " and ".join(f"{player.label} plays {player.role or 'any role'}" for player in players)
    if number == 2:
        raise PlayerError(
            f"{plays}; {players[0].env_name} seats one {roles[0]} and one {roles[1]}: name a "
            "player of each role"
        )
    raise PlayerError(
        f"{plays}; {players[0].env_name} seats {', '.join(roles)}: name players in the order "
        "of their seats"
    )


def opening_plies(players: Sequence[ResolvedPlayer]) -> int:
    """The most random opening plies that a trained player's config asks for.

    The maximum makes `match a b` and `match b a` open alike.
    """
    plies = [
        player.config.evaluation.opening_plies for player in players if player.config is not None
    ]
    return max(plies, default=EvaluationConfig().opening_plies)


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """Everything that decides the games of a match.

    players        in the order given
    games          number of games
    seed           of the match, from which the seeds of the games follow
    greedy         players take their most likely actions instead of sampled ones
    opening_plies  random plies at the beginning of every game
    seating        the players' seats, game by game
    batch          games that are played together from one start, one table each; the plan fixes it
                   because a network's results depend on the rows that it sees together
    whole          a batch can be repeated exactly, so an unfinished one is played again as a whole
    chance         the seed decides more than the opening
    notes          what a reader of the results should know
    """

    players: tuple[ResolvedPlayer, ...]
    games: int
    seed: int
    greedy: bool
    opening_plies: int
    seating: Seating
    batch: int
    whole: bool
    chance: bool
    notes: tuple[str, ...] = ()

    @property
    def batches(self) -> int:
        return -(-self.games // self.batch)

    def batch_games(self, batch: int) -> range:
        """Indices of the games of a batch."""
        return range(batch * self.batch, min((batch + 1) * self.batch, self.games))

    def game(self, index: int) -> PlannedGame:
        """Game `index` of the match, its seats filled by index of the player.

        The games of a paired block share their seed and their opening.
        """
        block, position = divmod(index, len(self.seating.sittings))
        game_seed = integer(self.seed, "match", block if self.seating.paired else index, bits=31)
        return planned_game(
            self.seating.sitting(index),
            index,
            game_seed,
            ("match", self.seed, block, position),
            opening=(self.opening_plies, game_seed),
            record_actions=True,
            greedy=self.greedy,
            pair=block if self.seating.paired else None,
        )

    def settings(self) -> dict[str, int | bool]:
        """The settings that are stored with a match, besides players, number and seed."""
        return {
            "greedy": self.greedy,
            "opening_plies": self.opening_plies,
            "paired": self.seating.paired,
            "batch": self.batch,
        }


def plan_match(
    env: EnvSpec,
    players: Sequence[ResolvedPlayer],
    games: int,
    seed: int,
    *,
    greedy: bool,
    batch: int,
    plies: int | None = None,
) -> MatchPlan:
    """The plan of a match.

    games  rounded up until every player has every seat equally often
    batch  games played together, rounded up to whole blocks
    plies  random plies at the beginning; None for what the players' configs ask for
    Raises: EnvOptionsError for options that the game does not take; and as `seating_of`.
    """
    with closing(make_game(env, players[0].env_options)) as game:
        seating = seating_of(env, game, players)
        if plies is None:
            plies = opening_plies(players) if opens_at_random(env, game) else 0
    together = len(seating.sittings)
    planned = -(-games // together) * together
    batch = -(-batch // together) * together
    whole = env.replayable and all(player.program is None for player in players)
    return MatchPlan(
        tuple(players),
        planned,
        seed,
        greedy,
        plies,
        seating,
        batch,
        whole,
        env.chance,
        (*seating.notes, *_rounded(games, planned, together)),
    )


def _rounded(games: int, planned: int, together: int) -> list[str]:
    """A note where more games are planned than were asked for. together: games of a unit."""
    if planned == games:
        return []
    units = "pairs" if together == 2 else f"rounds of {together}"
    return [f"{games} games were asked for; {planned} are planned, because games come in {units}"]


def check_meeting(env: EnvSpec, players: Sequence[ResolvedPlayer]) -> None:
    """Check that the players can meet, before anything is written. Raises: as `seating_of`."""
    with closing(make_game(env, players[0].env_options)) as game:
        seating_of(env, game, players)
