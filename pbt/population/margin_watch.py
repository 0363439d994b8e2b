"""Watches whether training games have margins, where margins are the objective."""

import math
from collections.abc import Sequence

from pbt.objective import ObjectiveKind, sums_to_zero
from pbt.transport.messages import GamesOver


class MarginWatch:
    """Names the first game whose returns do not sum to 0; it says nothing of later ones."""

    def __init__(self, objective: ObjectiveKind) -> None:
        self._watches = objective == "margin"

    def problem(self, games: GamesOver, first: int) -> str | None:
        """Return what is wrong with the returns of games in words, None for nothing new.

        first: number of the first game
        """
        if not self._watches:
            return None
        for number, (*_, returns) in enumerate(games.by_game(), first):
            if not sums_to_zero(returns):
                self._watches = False
                return _problem(number, returns)
        return None


def _problem(number: int, returns: Sequence[float]) -> str:
    shown = ", ".join(f"{value:.6g}" for value in returns)
    return (
        f"game {number}: its returns ({shown}) sum to {math.fsum(returns):.6g}; "
        'env.objective = "margin" expects 0, because what some gain the others lose; '
        'env.objective = "return" counts the returns themselves'
    )
