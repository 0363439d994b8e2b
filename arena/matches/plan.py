"""Who sits where in a match, and the seed of every game: pure, fixed before the first game."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from arena.matches.tables import PlannedGame
from arena.players.resolve import ResolvedPlayer, make_game
from pbt.config.running import EvaluationConfig
from pbt.envs.contract import EnvSpec, Game, opens_at_random
from pbt.errors import PlayerError
from pbt.seeding import integer
from pbt.transport.messages import GamePlan


@dataclass(frozen=True, slots=True)
class Seating:
    """Who sits where in the games of a block: of a pair, where two meet; of as many games as
    players at larger tables.

    sittings  the player of each seat, by game of the block; a single one where the seats cannot be
              swapped
    paired    the games of a block share their seed
    """

    sittings: tuple[tuple[int, ...], ...]
    paired: bool
    notes: tuple[str, ...] = ()

    @property
    def alone(self) -> bool:
        """One seat: each player has a game of its own on every seed."""
        return len(self.sittings[0]) == 1

    @property
    def block(self) -> int:
        """Games that are evidence only together."""
        return len(self.sittings) if self.paired or self.alone else 1

    def sitting(self, index: int) -> tuple[int, ...]:
        """The player of each seat in game `index` of the match."""
        return self.sittings[index % len(self.sittings)]


def seating_of(env: EnvSpec, game: Game, players: Sequence[ResolvedPlayer]) -> Seating:
    """Who can sit where.

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
        roles = [game.roles[role].name for role in game.seat_roles]
        seats = ", ".join(
            f"{players[player].label} is {role}"
            for player, role in zip(possible[0], roles, strict=True)
        )
        note = (
            f"seats cannot be swapped ({seats}), so games are not paired and the score "
            "holds what the roles give"
        )
        return Seating(possible[:1], paired=False, notes=(note,))
    return Seating(
        possible,
        paired=env.replayable,
        notes=tuple(
            f"{note}, so games are not paired; seats still change in turn" for note in unequal
        ),
    )


def _check_number(game: Game, players: Sequence[ResolvedPlayer]) -> None:
    name, seats, given = players[0].env_name, len(game.seat_roles), len(players)
    if given < 2:
        raise PlayerError(
            f"{players[0].label} is alone; expected two players or more, or `arena evaluate "
            f"{players[0].label}`"
        )
    if given == max(seats, 2):
        if given > 2 and len({player.ref for player in players}) < given:
            raise PlayerError(
                f"the same player twice at a table of {seats} in {name}; expected {seats} "
                "different ones"
            )
        return
    if seats == 1:
        raise PlayerError(
            f"{name} has one seat, and {given} players were named; two are compared, `arena "
            "evaluate` shows more beside each other"
        )
    if seats == 2:
        raise PlayerError(f"{name} has 2 seats, and {given} players were named; expected two")
    alone = f"`arena evaluate {players[0].label}` seats a player among random ones"
    raise PlayerError(
        f"{name} has {seats} seats, and {given} players were named; expected a player for "
        f"every seat; {alone}"
    )


def sittings(game: Game, players: Sequence[ResolvedPlayer]) -> tuple[tuple[int, ...], ...]:
    """Every turn of the table in which everybody plays the role of its seat. Raises: PlayerError
    when there is none.
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
    """The most that a trained player's config asks for, so that `match a b` and `match b a` open
    alike.
    """
    asked = [
        player.config.evaluation.opening_plies for player in players if player.config is not None
    ]
    return max(asked, default=EvaluationConfig().opening_plies)


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """All that decides the games of a match.

    games   how many;  greedy: most likely actions instead of sampled ones
    batch   so many games, one table each, are played together from their common start: which rows a
            network sees together is part of the plan
    whole   what one batch comes to is repeatable, so that a part of it is played again with the
            rest
    chance  the seed decides more than the opening
    notes   what a reader should know
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
        """Game `index`, by index of the player. All games of a block share their seed and their
        opening, where the seed decides anything.
        """
        block, position = divmod(index, len(self.seating.sittings))
        game_seed = integer(self.seed, "match", block if self.seating.paired else index, bits=31)
        plan = GamePlan(
            game_count=index,
            kind="evaluation",
            seed=game_seed,
            seats=(),
            noise=("match", self.seed, block, position),
            opening_plies=self.opening_plies,
            opening_seed=game_seed,
            record_actions=True,
            greedy=self.greedy,
            pair=block if self.seating.paired else None,
        )
        return PlannedGame(self.seating.sitting(index), plan)

    def settings(self) -> dict[str, int | bool]:
        """What decides the games besides players, number and seed, as it is stored with the
        match.
        """
        return {
            "greedy": self.greedy,
            "opening_plies": self.opening_plies,
            "paired": self.seating.paired,
            "batch": self.batch,
        }


def plan_match(
    env: EnvSpec,
    game: Game,
    players: Sequence[ResolvedPlayer],
    games: int,
    seed: int,
    *,
    greedy: bool,
    batch: int,
    plies: int | None = None,
) -> MatchPlan:
    """A plan.

    game   one of `env`, to be read;  games: asked for, rounded up until everybody has sat
           everywhere equally often
    batch  games played together, rounded up to whole blocks;  plies: random ones to open; None: as
           the players' configs ask
    Raises: as `seating_of`.
    """
    seating = seating_of(env, game, players)
    together = len(seating.sittings)
    planned, notes = -(-games // together) * together, list(seating.notes)
    if planned != games:
        units = "pairs" if together == 2 else f"rounds of {together}"
        notes.append(
            f"{games} games were asked for; {planned} are planned, because games come in {units}"
        )
    if plies is None:
        plies = opening_plies(players) if opens_at_random(env, game) else 0
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
        tuple(notes),
    )


def check_meeting(env: EnvSpec, players: Sequence[ResolvedPlayer]) -> None:
    """Raise what `seating_of` raises, before anything is written."""
    with closing(make_game(env, players[0].env_options)) as game:
        seating_of(env, game, players)
