"""Who sits where in a match, and the seed of every game: pure, fixed before the first game."""

from dataclasses import dataclass

from arena.players import ResolvedPlayer
from arena.playing import PlannedGame
from pbt.config.schema import EvaluationConfig
from pbt.envs.contract import EnvSpec, Game
from pbt.errors import PlayerError
from pbt.seeding import integer
from pbt.transport.messages import GamePlan


@dataclass(frozen=True, slots=True)
class Seating:
    """a_seats: the seat of A in the first and the second game of a pair; one entry where the seats cannot be swapped, and there are no pairs."""

    a_seats: tuple[int, ...]
    note: str | None = None

    @property
    def paired(self) -> bool:
        return len(self.a_seats) == 2

    def a_seat(self, index: int) -> int:
        """Where A sits in game `index` of the match."""
        return self.a_seats[index % len(self.a_seats)]


def seating_of(game: Game, a: ResolvedPlayer, b: ResolvedPlayer) -> Seating:
    """Who can sit where.

    Raises: PlayerError for players of two games, for games of one seat, of more than two, and for two players of the same one-sided role.
    """
    if (a.env_name, a.env_options) != (b.env_name, b.env_options):
        raise PlayerError(f"{a.label} plays {a.env_name}, {b.label} plays {b.env_name}, or the same with other options; expected players of one game")
    roles = tuple(game.roles[role].name for role in game.seat_roles)
    if len(roles) == 1:
        raise PlayerError(f"{a.env_name} has one seat, so nobody meets there; `arena evaluate {a.label}` shows a player's returns")
    if len(roles) > 2:
        alone = f"`arena evaluate {a.label}` seats a player among random ones"
        raise PlayerError(f"{a.env_name} has {len(roles)} seats; matches are between two, larger tables come later; {alone}")
    possible = tuple(seat for seat in (0, 1) if a.plays(roles[seat]) and b.plays(roles[1 - seat]))
    if len(possible) == 2:
        return Seating(possible)
    if not possible:
        plays = " and ".join(f"{player.label} plays {player.role or 'any role'}" for player in (a, b))
        raise PlayerError(f"{plays}; {a.env_name} seats one {roles[0]} and one {roles[1]}: name a player of each role")
    seats = f"{a.label} is {roles[possible[0]]}, {b.label} is {roles[1 - possible[0]]}"
    return Seating(possible, f"seats cannot be swapped ({seats}), so games are not paired and the score holds what the roles give")


def opening_plies(a: ResolvedPlayer, b: ResolvedPlayer) -> int:
    """The more that a trained player's config asks for, so that `match a b` and `match b a` open alike."""
    asked = [player.config.evaluation.opening_plies for player in (a, b) if player.config is not None]
    return max(asked, default=EvaluationConfig().opening_plies)


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """All that decides a match. games: how many;  greedy: most likely actions instead of sampled ones;  notes: what a reader should know."""

    a: ResolvedPlayer
    b: ResolvedPlayer
    games: int
    seed: int
    greedy: bool
    opening_plies: int
    seating: Seating
    notes: tuple[str, ...]

    def game(self, index: int) -> PlannedGame:
        """Game `index` of player 0 (A) and player 1 (B). Both games of a pair share their seed and their opening."""
        pair, game = divmod(index, len(self.seating.a_seats))
        seat = self.seating.a_seat(index)
        game_seed = integer(self.seed, "match", pair, bits=31)
        plan = GamePlan(
            game_count=index,
            kind="evaluation",
            seed=game_seed,
            seats=(),
            noise=("match", self.seed, pair, game),
            opening_plies=self.opening_plies,
            opening_seed=game_seed,
            record_actions=True,
            greedy=self.greedy,
            pair=pair if self.seating.paired else None,
        )
        # Seat 0 is A's (player 0) when `seat` is 0, else B's (player 1).
        return PlannedGame((seat, 1 - seat), plan)


def plan_match(env: EnvSpec, game: Game, a: ResolvedPlayer, b: ResolvedPlayer, games: int, seed: int, *, greedy: bool) -> MatchPlan:
    """game: one of `env`, to be read;  games: asked for; an odd number is rounded up where they come in pairs. Raises: as `seating_of`."""
    seating = seating_of(game, a, b)
    planned = games + games % 2 if seating.paired else games
    notes = [seating.note] if seating.note else []
    if planned != games:
        notes.append(f"{games} games were asked for; {planned} are planned, because games come in pairs")
    plies = 0 if env.chance else opening_plies(a, b)
    return MatchPlan(a, b, planned, seed, greedy, plies, seating, tuple(notes))


def check_meeting(env: EnvSpec, a: ResolvedPlayer, b: ResolvedPlayer) -> None:
    """Raise what `seating_of` raises, before anything is written."""
    game = env.make(**a.env_options)
    try:
        seating_of(game, a, b)
    finally:
        game.close()
