"""Scores that PBT ranks: points per training game over a member's newest games since its copy.

The functions are pure: live records and stored rows of the same games give the same score.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from pbt.errors import EngineError, EnvError
from pbt.objective import ObjectiveKind, sums_to_zero
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


class Seated(NamedTuple):
    """A live member's seats in a game.

    own     its seats
    others  the other players' seats, and the players there
    """

    member: str
    own: tuple[int, ...]
    others: tuple[tuple[int, PlayerRef], ...]

    def counts(self, objective: ObjectiveKind) -> bool:
        """Whether games with these seats count; by wins and margins, another player must play."""
        return bool(self.others) or objective == "return"

    def points(
        self,
        objective: ObjectiveKind,
        number: int,
        places: Sequence[int],
        returns: Sequence[float],
    ) -> float:
        """Return the member's points of a game that counts.

        "win"     1.0 if its best seat came first and no other player shared the first place, else
                  0.0
        "margin"  the mean unshaped return over its seats, as by "return"

        places, returns: by seat; number: of the game. Raises: EnvError when the mean return is not
        a finite number.
        """
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
        """Return the one other player, SEVERAL where there are more, ITSELF for none.

        A live player is named with its generation. generations: by seat, when the game began
        """
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


class Counted(NamedTuple):
    """A game that counts for a member.

    number    of the game
    points    of the member
    opponent  see `Seated.opponent`; empty where scores do not keep opponents apart
    """

    number: int
    points: float
    opponent: str = ""


def counted_games(
    record: GameRecord, objective: ObjectiveKind
) -> Iterator[tuple[str, int, Counted]]:
    """Yield each live member that a game counts for, its generation when it began, and the game.

    Only training games that ended well count. Raises: EnvError as `Seated.points`.
    """
    if record.kind != "training" or is_voided(record.end_reason):
        return
    generations = [seat.generation for seat in record.seats]
    places = [seat.place for seat in record.seats]
    returns = [seat.returns for seat in record.seats]
    for seated in members_seated(tuple(seat.player for seat in record.seats)):
        if seated.counts(objective):
            points = seated.points(objective, record.number, places, returns)
            game = Counted(record.number, points, seated.opponent(generations))
            yield seated.member, generations[seated.own[0]], game


def score_points(member: str, counted: Iterable[Counted], detail: Detail = "plain") -> MemberScore:
    """Return the score over games whose numbers ascend.

    Sums are exact before they are rounded once, so their order does not change a bit.
    """
    games = list(counted)
    if not games:
        return MemberScore(member, 0, 0.0, -1, -1)
    count, total, squares = _sums([game.points for game in games], detail)
    against = _by_opponent(games, detail) if detail in _KEEPS_OPPONENTS else ()
    ends = games[0].number, games[-1].number
    return MemberScore(member, count, total / count, *ends, squares, against)


def _by_opponent(games: Iterable[Counted], detail: Detail) -> tuple[Against, ...]:
    points: dict[str, list[float]] = {}
    for game in games:
        points.setdefault(game.opponent, []).append(game.points)
    return tuple(Against(name, *_sums(own, detail)) for name, own in sorted(points.items()))


def _sums(points: Sequence[float], detail: Detail) -> tuple[int, float, float | None]:
    """Return how many points these are, their sum, and that of squared distances from the mean."""
    total = math.fsum(points)
    if detail not in _KEEPS_SQUARES:
        return len(points), total, None
    mean = total / len(points)
    return len(points), total, math.fsum((each - mean) ** 2 for each in points)


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


def margin_problem(games: GamesOver, first: int) -> str | None:
    """Return which game is the first whose returns do not sum to 0, None where all do.

    first: number of the first game
    """
    for number, (*_, returns) in enumerate(games.by_game(), first):
        if not sums_to_zero(returns):
            shown = ", ".join(f"{value:.6g}" for value in returns)
            return (
                f"game {number}: its returns ({shown}) sum to {math.fsum(returns):.6g}; "
                'env.objective = "margin" expects 0, because what some gain the others lose; '
                'env.objective = "return" counts the returns themselves'
            )
    return None


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

    def add_games(self, games: GamesOver, first: int) -> None:
        """Count games for every live member that began them in its present generation.

        first: number of the first one. Raises: EngineError unless numbers ascend.
        """
        lineups = [members_seated(tuple(seat.player for seat in plan)) for plan in games.lineups]
        counting = [[one for one in seats if one.counts(self.objective)] for seats in lineups]
        if not any(counting):
            return
        for number, (which, generations, places, returns) in enumerate(games.by_game(), first):
            for seated in counting[which]:
                if generations[seated.own[0]] == self._generations.get(seated.member, 0):
                    points = seated.points(self.objective, number, places, returns)
                    kept = self.detail in _KEEPS_OPPONENTS
                    opponent = seated.opponent(generations) if kept else ""
                    self._append(seated.member, Counted(number, points, opponent))

    def _append(self, member: str, game: Counted) -> None:
        window = self._windows.setdefault(member, deque(maxlen=self.score_games))
        if window and game.number <= window[-1].number:
            raise EngineError(
                f"game {game.number} of {member} came after game {window[-1].number}: "
                "numbers must ascend"
            )
        window.append(game)

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
