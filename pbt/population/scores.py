"""Scores that PBT ranks: points per training game over a member's newest games since its copy.

The functions are pure: live records and stored rows of the same games give the same score.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from pbt.errors import EngineError, EnvError
from pbt.objective import ObjectiveKind
from pbt.records import Against, GameRecord, MemberScore, PlayerRef, is_voided
from pbt.saved import SavedWindow

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
    player = PlayerRef("member", member)
    own = [seat for seat in record.seats if seat.player == player]
    others = [seat for seat in record.seats if seat.player != player]
    if not own or (not others and objective != "return"):
        return None
    if objective != "win":
        mean = math.fsum(seat.returns for seat in own) / len(own)
        if not math.isfinite(mean):
            raise EnvError(
                f"game {record.number}: the return of {member} is {mean}; rewards must be "
                "finite numbers; see `arena env check`"
            )
        return mean
    alone_first = any(seat.place == 0 for seat in own) and all(seat.place != 0 for seat in others)
    return 1.0 if alone_first else 0.0


def opponent_of(record: GameRecord, member: str) -> str:
    """Return the one other player of a game, SEVERAL where there are more, ITSELF for none.

    A live player is named with the generation in which it began the game.
    """
    own = PlayerRef("member", member)
    others = {seat.player: seat.generation for seat in record.seats if seat.player != own}
    if len(others) != 1:
        return SEVERAL if others else ITSELF
    ((player, generation),) = others.items()
    return f"{player.kind} {player.name}" + (f" {generation}" if player.kind == "member" else "")


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
        for member in {seat.player.name for seat in record.seats if seat.player.kind == "member"}:
            points = game_points(record, member, self.objective)
            if points is None or generation_of(record, member) != self._generations.get(member, 0):
                continue
            window = self._windows.setdefault(member, deque(maxlen=self.score_games))
            if window and record.number <= window[-1].number:
                raise EngineError(
                    f"game {record.number} of {member} came after game {window[-1].number}: "
                    "numbers must ascend"
                )
            opponent = opponent_of(record, member) if self.detail in _KEEPS_OPPONENTS else ""
            window.append(Counted(record.number, points, opponent))

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
