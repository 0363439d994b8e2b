"""Training curves: one point per update of a member, made of the update and of its games since."""

import math
from collections import defaultdict
from dataclasses import asdict

from pbt.learning.statistics import UpdateStats
from pbt.population.members import Member
from pbt.records import GameRecord
from pbt.transport.messages import JsonState


class TrainingCurves:
    """Collects the results of each member's training games until its next update."""

    def __init__(self) -> None:
        self._returns = defaultdict[str, list[float]](list)
        self._points = defaultdict[str, list[float]](list)

    def add(self, record: GameRecord) -> None:
        """Keep the returns and the points of every live member's seats."""
        for seat in record.seats:
            if seat.player.kind == "member":
                self._returns[seat.player.name].append(seat.returns)
                if seat.points is not None:
                    self._points[seat.player.name].append(seat.points)

    def point(self, member: Member, stats: UpdateStats, win_rate: float | None) -> dict[str, float]:
        """Return the point of one update, by curve, and forget the member's games.

        It holds the update's statistics, the hyperparameters in force, the win rate unless it is
        None, and the mean return and mean points of the games since the last update.
        """
        curves = {**asdict(stats), **member.hyperparams}
        # Frames are the key of the point, not a curve.
        del curves["frames"]
        if win_rate is not None:
            curves["win_rate"] = win_rate
        for name, by_member in (("return", self._returns), ("points", self._points)):
            if values := by_member.pop(member.name, []):
                curves[name] = math.fsum(values) / len(values)
        return curves

    def state(self) -> JsonState:
        """Return the games since the last updates, for a checkpoint."""
        return {"returns": dict(self._returns), "points": dict(self._points)}

    def load(self, state: JsonState) -> None:
        """Take over what `state` returned; a checkpoint from before points existed has none."""
        self._returns = _copied(state["returns"])
        self._points = _copied(state.get("points", {}))


def _copied(by_member: JsonState) -> defaultdict[str, list[float]]:
    return defaultdict(list, {member: list(values) for member, values in by_member.items()})
