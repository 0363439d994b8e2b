"""Watches whether training games have margins, where margins are the objective."""

import math

from pbt.objective import ObjectiveKind, sums_to_zero
from pbt.records import GameRecord


class MarginWatch:
    """Names the first game whose returns do not sum to 0; it says nothing of later ones."""

    def __init__(self, objective: ObjectiveKind) -> None:
        self._watches = objective == "margin"

    def problem(self, record: GameRecord) -> str | None:
        """Return what is wrong with a game's returns in words, None for nothing new."""
        returns = [seat.returns for seat in record.seats]
        if not self._watches or sums_to_zero(returns):
            return None
        self._watches = False
        shown = ", ".join(f"{value:.6g}" for value in returns)
        return (
            f"game {record.number}: its returns ({shown}) sum to {math.fsum(returns):.6g}; "
            'env.objective = "margin" expects 0, because what some gain the others lose; '
            'env.objective = "return" counts the returns themselves'
        )
