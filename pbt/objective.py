"""The objective of a game: what a result of it is worth.

PBT, ratings and matches count in it, and every number that is shown says which one it is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pbt.errors import EngineError

ObjectiveKind = Literal["win", "margin", "return"]
"""The three objectives.

"win"     who wins: a game is 1 for a win alone, else 0
"margin"  how much is won: the return of a game in which what some gain the others lose
"return"  the return itself, where seats have a common interest, interests of their own, or no
          opponent
"""
OBJECTIVES: tuple[ObjectiveKind, ...] = get_args(ObjectiveKind)


@dataclass(frozen=True, slots=True)
class ObjectiveWords:
    """The words for numbers of one objective.

    number   what a mean over games is called
    unit     what follows the number, "" where it stands alone
    meaning  what one game is worth
    """

    number: str
    unit: str
    meaning: str

    @property
    def heading(self) -> str:
        """The number with its unit."""
        return f"{self.number} {self.unit}".strip()


OBJECTIVE_WORDS: Mapping[ObjectiveKind, ObjectiveWords] = {
    "win": ObjectiveWords("win rate", "", "1 for a win alone, else 0"),
    "margin": ObjectiveWords("margin", "a game", "the return, where returns sum to 0"),
    "return": ObjectiveWords("return", "a game", "the return"),
}

# Returns are sums of rewards that may be float32, so their sum is compared with their sizes.
_TOLERANCE = 1e-4


def as_objective(word: object) -> ObjectiveKind:
    """Return the word as an objective.

    Rounds of earlier versions say "wins" for "win". Raises: EngineError for any other word.
    """
    if word == "wins":
        return "win"
    for objective in OBJECTIVES:
        if word == objective:
            return objective
    raise EngineError(f'objective = {word!r}: expected "win", "margin" or "return"')


def chosen_objective(
    setting: ObjectiveKind | None, declared: ObjectiveKind | None, seats: int
) -> ObjectiveKind:
    """Return the objective of a new population.

    setting   that of the config, None where it has none
    declared  that of the game, None where it declares none
    seats     of one game
    Without a setting it is the game's own; without that, the return where there is one seat, else
    wins.
    """
    if setting is not None:
        return setting
    return "return" if seats == 1 else declared or "win"


def sums_to_zero(returns: Sequence[float]) -> bool:
    """Whether the returns of all seats of one game sum to 0, but for rounding."""
    return abs(math.fsum(returns)) <= _TOLERANCE * math.fsum(map(abs, returns))


def all_equal(returns: Sequence[float]) -> bool:
    """Whether all seats of one game have the same return, but for rounding."""
    return max(returns) - min(returns) <= _TOLERANCE * max(map(abs, returns))
