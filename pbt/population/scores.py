"""What PBT ranks: points per training game over a member's newest games since its last copy.
Pure; the same from live records and stored rows.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

from pbt.errors import EngineError, EnvError
from pbt.records import Against, GameRecord, MemberScore, PlayerRef, is_voided

Objective = Literal["wins", "return"]
Detail = Literal["plain", "against", "squares"]
"""What a score holds besides its mean: nothing, its games by opponent, or its sum of squares."""

SEVERAL = "several"


def as_objective(word: object) -> Objective:
    """Raises: EngineError on any other word than "wins" and "return"."""
    for objective in get_args(Objective):
        if word == objective:
            return objective  # type: ignore[no-any-return]
    raise EngineError(f'objective = {word!r}: expected "wins" or "return"')


def game_points(record: GameRecord, member: str, objective: Objective) -> float | None:
    """Points of one game for a live member, None where the game does not count for it.

    "wins": 1.0 if the member's best seat came first and no other player shared the first place,
    else 0.0; games without another player do not count. "return": the mean unshaped return over the
    member's seats. Raises: EnvError when that is not a finite number.
    """
    if record.kind != "training" or is_voided(record.end_reason):
        return None
    player = PlayerRef("member", member)
    own = [seat for seat in record.seats if seat.player == player]
    others = [seat for seat in record.seats if seat.player != player]
    if not own:
        return None
    if objective == "return":
        mean = math.fsum(seat.returns for seat in own) / len(own)
        if not math.isfinite(mean):
            raise EnvError(
                f"game {record.number}: the return of {member} is {mean}; rewards must be "
                "finite numbers; see `arena env check`"
            )
        return mean
    if not others:
        return None
    return (
        1.0
        if any(seat.place == 0 for seat in own) and all(seat.place != 0 for seat in others)
        else 0.0
    )


def opponent_of(record: GameRecord, member: str) -> str:
    """The one other player of a game, a live one with the generation it began in; "several"
    where there is more than one (or none) of them.
    """
    own = PlayerRef("member", member)
    others = {seat.player: seat.generation for seat in record.seats if seat.player != own}
    if len(others) != 1:
        return SEVERAL
    ((player, generation),) = others.items()
    return f"{player.kind} {player.name}" + (f" {generation}" if player.kind == "member" else "")


class Counted(NamedTuple):
    """A game that counts for a member. opponent: as `opponent_of`, empty where nobody asks for
    it.
    """

    number: int
    points: float
    opponent: str = ""


def score_points(member: str, counted: Iterable[Counted], detail: Detail = "plain") -> MemberScore:
    """The score over games, numbers ascending. Sums are exact before their one rounding: the
    same bits in whatever order.
    """
    games = list(counted)
    if not games:
        return MemberScore(member, 0, 0.0, -1, -1)
    mean = math.fsum(game.points for game in games) / len(games)
    squares = (
        math.fsum((game.points - mean) ** 2 for game in games) if detail == "squares" else None
    )
    against = _by_opponent(games) if detail == "against" else ()
    return MemberScore(
        member, len(games), mean, games[0].number, games[-1].number, squares, against
    )


def _by_opponent(games: Iterable[Counted]) -> tuple[Against, ...]:
    points: dict[str, list[float]] = {}
    for game in games:
        points.setdefault(game.opponent, []).append(game.points)
    return tuple(
        Against(opponent, len(found), math.fsum(found))
        for opponent, found in sorted(points.items())
    )


def score_games(
    member: str, records: Iterable[GameRecord], objective: Objective, detail: Detail = "plain"
) -> MemberScore:
    """A member's score over game records (any order).

    Only games of one generation count, that of the earliest: the others were begun by weights that
    a copy replaced.
    """
    counted = sorted(
        (
            Counted(
                record.number, points, opponent_of(record, member) if detail == "against" else ""
            ),
            generation_of(record, member),
        )
        for record in records
        if (points := game_points(record, member, objective)) is not None
    )
    return score_points(
        member, (game for game, generation in counted if generation == counted[0][1]), detail
    )


def generation_of(record: GameRecord, member: str) -> int:
    """The generation in which a member began a game it sat in."""
    player = PlayerRef("member", member)
    return next(seat.generation for seat in record.seats if seat.player == player)


class ScoreWindow:
    """Per member its newest counted games since its last copy, at most `score_games`.

    A window is always every counted game of one generation in one range of game numbers, which is
    why its two ends are enough to recompute it.
    """

    def __init__(self, objective: Objective, score_games: int, detail: Detail = "plain") -> None:
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
            window.append(
                Counted(
                    record.number,
                    points,
                    opponent_of(record, member) if self.detail == "against" else "",
                )
            )

    def restart(self, member: str, generation: int) -> None:
        """Forget the member's games, those still running included: they were begun by the
        weights that a copy replaced.
        """
        self._windows.pop(member, None)
        self._generations[member] = generation

    def score(self, member: str) -> MemberScore:
        return score_points(member, self._windows.get(member, ()), self.detail)

    def state(self) -> dict[str, Any]:
        """For a checkpoint; JSON-able. Each game names its opponent by its place in a list of
        them.
        """
        places: dict[str, int] = {}
        games = {
            member: [
                [game.number, game.points, places.setdefault(game.opponent, len(places))]
                for game in window
            ]
            for member, window in sorted(self._windows.items())
        }
        return {"games": games, "opponents": list(places), "generations": dict(self._generations)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned; a smaller `score_games` than then keeps the newest.

        Games whose opponents were not kept (in older checkpoints, and where nobody asked) count no
        more where opponents are asked for now.
        """
        self._generations = {
            member: int(generation) for member, generation in state["generations"].items()
        }
        opponents = state.get("opponents", [""])
        self._windows = {}
        for member, games in state["games"].items():
            window = deque[Counted](maxlen=self.score_games)
            for number, points, *place in games:
                opponent = opponents[place[0]] if place else ""
                if opponent or self.detail != "against":
                    window.append(Counted(int(number), float(points), opponent))
            self._windows[member] = window
