"""Scores that PBT ranks: points per training game over a member's newest games since its copy.

The functions are pure: live records and stored rows of the same games give the same score.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from pbt.errors import EngineError, EnvError
from pbt.objective import ObjectiveKind
from pbt.records import Against, GameRecord, MemberScore, PlayerRef, is_voided
from pbt.saved import SavedWindow
from pbt.transport.messages import GamesOver

Detail = Literal["plain", "against", "squares", "against_squares"]
"""What a score holds besides its mean.

"against": its games by opponent. "squares": its sum of squares. "against_squares": both, with a sum
of squares for each opponent.
"""
_KEEPS_OPPONENTS: tuple[Detail, ...] = ("against", "against_squares")
_KEEPS_SQUARES: tuple[Detail, ...] = ("squares", "against_squares")

# The opponent of games with several other players.
SEVERAL = "several"
# The opponent of games in which the member has all seats.
ITSELF = "itself"


def game_points(record: GameRecord, member: str, objective: ObjectiveKind) -> float | None:
    """Return a live member's points of one game, None where the game does not count for it.

    "win"     1.0 if the member's best seat came first and no other player shared the first place,
              else 0.0; games without another player do not count
    "margin"  the mean unshaped return over the member's seats; games without another player do not
              count
    "return"  the mean unshaped return over the member's seats

    Raises: EnvError when the mean return is not a finite number.
    """
    if record.kind != "training" or is_voided(record.end_reason):
        return None
    for seated in members_seated(tuple(seat.player for seat in record.seats)):
        if seated.member == member and seated.counts(objective):
            places = [seat.place for seat in record.seats]
            returns = [seat.returns for seat in record.seats]
            return seated.points(objective, record.number, places, returns)
    return None


class Seated(NamedTuple):
    """A live member's seats in a game.

    own     its seats
    others  the other players' seats, and the players there
    """

    member: str
    own: tuple[int, ...]
    others: tuple[tuple[int, PlayerRef], ...]

    def counts(self, objective: ObjectiveKind) -> bool:
        """Whether games with these seats have points for the member."""
        return bool(self.others) or objective == "return"

    def points(
        self,
        objective: ObjectiveKind,
        number: int,
        places: Sequence[int],
        returns: Sequence[float],
    ) -> float:
        """See `game_points`. places, returns: by seat; number: of the game."""
        if objective == "win":
            first = any(places[seat] == 0 for seat in self.own)
            return 1.0 if first and all(places[seat] != 0 for seat, _ in self.others) else 0.0
        mean = math.fsum(returns[seat] for seat in self.own) / len(self.own)
        if not math.isfinite(mean):
            raise EnvError(
                f"game {number}: the return of {self.member} is {mean}; rewards must be "
                "finite numbers; see `arena env check`"
            )
        return mean

    def opponent(self, generations: Sequence[int]) -> str:
        """See `opponent_of`. generations: by seat."""
        others = {player: generations[seat] for seat, player in self.others}
        if len(others) != 1:
            return SEVERAL if others else ITSELF
        ((player, generation),) = others.items()
        of_member = f" {generation}" if player.kind == "member" else ""
        return f"{player.kind} {player.name}{of_member}"


@lru_cache(maxsize=2**14)
def members_seated(players: tuple[PlayerRef, ...]) -> tuple[Seated, ...]:
    """The live members among the players of a game, which are given by seat."""
    by_player: dict[PlayerRef, list[int]] = {}
    for seat, player in enumerate(players):
        by_player.setdefault(player, []).append(seat)
    return tuple(
        Seated(
            own.name,
            tuple(seats),
            tuple((seat, other) for seat, other in enumerate(players) if other != own),
        )
        for own, seats in by_player.items()
        if own.kind == "member"
    )


def opponent_of(record: GameRecord, member: str) -> str:
    """Return the one other player of a game, SEVERAL where there are more, ITSELF for none.

    A live player is named with the generation in which it began the game.
    """
    generations = [seat.generation for seat in record.seats]
    seated = members_seated(tuple(seat.player for seat in record.seats))
    return next(one.opponent(generations) for one in seated if one.member == member)


class Counted(NamedTuple):
    """A game that counts for a member.

    number    of the game
    points    of the member
    opponent  as `opponent_of` returns it, empty where scores do not keep opponents apart
    """

    number: int
    points: float
    opponent: str = ""


def score_points(member: str, counted: Iterable[Counted], detail: Detail = "plain") -> MemberScore:
    """Return the score over games whose numbers ascend.

    Sums are exact before they are rounded once, so their order does not change a bit.
    """
    games = list(counted)
    if not games:
        return MemberScore(member, 0, 0.0, -1, -1)
    mean = math.fsum(game.points for game in games) / len(games)
    squares = _squares([game.points for game in games], mean) if detail in _KEEPS_SQUARES else None
    against = _by_opponent(games, detail) if detail in _KEEPS_OPPONENTS else ()
    return MemberScore(
        member, len(games), mean, games[0].number, games[-1].number, squares, against
    )


def _by_opponent(games: Iterable[Counted], detail: Detail) -> tuple[Against, ...]:
    points: dict[str, list[float]] = {}
    for game in games:
        points.setdefault(game.opponent, []).append(game.points)
    return tuple(_against(opponent, own, detail) for opponent, own in sorted(points.items()))


def _against(opponent: str, points: Sequence[float], detail: Detail) -> Against:
    total = math.fsum(points)
    squares = _squares(points, total / len(points)) if detail in _KEEPS_SQUARES else None
    return Against(opponent, len(points), total, squares)


def _squares(points: Iterable[float], mean: float) -> float:
    """Return the sum of squared distances from the mean."""
    return math.fsum((each - mean) ** 2 for each in points)


def score_problem(score: MemberScore, objective: ObjectiveKind) -> str | None:
    """Return what no games can have made of a stored score, None for nothing."""
    cells = [(1, score.objective), *((part.games, part.points) for part in score.against)]
    for games, points in cells:
        if games < 1 or not math.isfinite(points):
            return f"= {points} of {games} games: expected a finite number of one game or more"
        if objective == "win" and not 0.0 <= points <= games:
            return f"= {points} of {games} games: expected wins, from 0 to the number of games"
    for squares in (score.squares, *(part.squares for part in score.against)):
        if squares is not None and not 0.0 <= squares < math.inf:
            return f"has squares {squares}: expected a finite number of at least 0"
    return None


def generation_of(record: GameRecord, member: str) -> int:
    """Return the generation in which a member began a game that it played."""
    player = PlayerRef("member", member)
    return next(seat.generation for seat in record.seats if seat.player == player)


class ScoreWindow:
    """Each member's newest games that count, since its last copy.

    objective    what a game's points are
    detail       what a score holds besides its mean
    score_games  how many games a window holds at most

    A window holds every counted game of one generation in one range of game numbers, so its two
    ends are enough to compute it again.
    """

    def __init__(
        self, objective: ObjectiveKind, score_games: int, detail: Detail = "plain"
    ) -> None:
        self.objective, self.detail = objective, detail
        self.score_games = score_games
        self._windows: dict[str, deque[Counted]] = {}
        self._generations: dict[str, int] = {}

    def add(self, record: GameRecord) -> None:
        """Count a finished game for every live member that began it in its present generation.

        Raises: EngineError unless numbers ascend.
        """
        if record.kind == "training" and not is_voided(record.end_reason):
            generations = [seat.generation for seat in record.seats]
            places = [seat.place for seat in record.seats]
            returns = [seat.returns for seat in record.seats]
            for seated in self._counting(tuple(seat.player for seat in record.seats)):
                self._count(seated, record.number, generations, places, returns)

    def add_games(self, games: GamesOver, first: int) -> None:
        """Count games as `add` does. first: number of the first one."""
        counting = [self._counting(tuple(seat.player for seat in plan)) for plan in games.lineups]
        if any(counting):
            for number, (which, generations, places, returns) in enumerate(games.by_game(), first):
                for seated in counting[which]:
                    self._count(seated, number, generations, places, returns)

    def _counting(self, players: tuple[PlayerRef, ...]) -> list[Seated]:
        """The live members that have points of games with these players."""
        return [seated for seated in members_seated(players) if seated.counts(self.objective)]

    def _count(
        self,
        seated: Seated,
        number: int,
        generations: Sequence[int],
        places: Sequence[int],
        returns: Sequence[float],
    ) -> None:
        """Count one game for a member. generations, places, returns: by seat."""
        member = seated.member
        if generations[seated.own[0]] != self._generations.get(member, 0):
            return
        points = seated.points(self.objective, number, places, returns)
        window = self._windows.setdefault(member, deque(maxlen=self.score_games))
        if window and number <= window[-1].number:
            raise EngineError(
                f"game {number} of {member} came after game {window[-1].number}: "
                "numbers must ascend"
            )
        opponent = seated.opponent(generations) if self.detail in _KEEPS_OPPONENTS else ""
        window.append(Counted(number, points, opponent))

    def restart(self, member: str, generation: int) -> None:
        """Forget the member's games, because a copy replaced the weights that played them.

        Games that still run were begun by the replaced weights, so they will not count either.
        """
        self._windows.pop(member, None)
        self._generations[member] = generation

    def restart_all(self) -> None:
        """Forget all members' games, because their points were counted by another objective."""
        self._windows.clear()

    def score(self, member: str) -> MemberScore:
        return score_points(member, self._windows.get(member, ()), self.detail)

    def mean(self, member: str) -> MemberScore:
        """Return the score without details, which take ten times as long; displays need no more."""
        return score_points(member, self._windows.get(member, ()))

    def state(self) -> SavedWindow:
        places: dict[str, int] = {}
        games = {
            member: [
                (game.number, game.points, places.setdefault(game.opponent, len(places)))
                for game in window
            ]
            for member, window in sorted(self._windows.items())
        }
        return SavedWindow(games, list(places), dict(self._generations))

    def load(self, state: SavedWindow) -> None:
        """Take over what `state` returned; with a smaller `score_games` the newest games stay.

        Games whose opponents were not kept, as a `detail` needed none, no longer count where scores
        keep opponents apart now.
        """
        self._generations, self._windows = dict(state.generations), {}
        for member, games in state.games.items():
            window = deque[Counted](maxlen=self.score_games)
            for number, points, place in games:
                opponent = state.opponents[place]
                if opponent or self.detail not in _KEEPS_OPPONENTS:
                    window.append(Counted(number, points, opponent))
            self._windows[member] = window
