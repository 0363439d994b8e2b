"""Training curves: one point per update of a member, made of the update and of its games since."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict

from pbt.learning.statistics import UpdateStats
from pbt.objective import ObjectiveKind
from pbt.population.members import Member
from pbt.records import MemberScore
from pbt.saved import SavedCurves
from pbt.transport.messages import GamesOver


class TrainingCurves:
    """Collects the results of each member's training games until its next update."""

    def __init__(self) -> None:
        self._returns = defaultdict[str, list[float]](list)
        self._points = defaultdict[str, list[float]](list)

    def add(self, games: GamesOver) -> None:
        """Keep the returns and the points of every live member's seats."""
        size, points = games.seats, games.points
        players = [[seat.player for seat in seats] for seats in games.lineups]
        for lineup, start in zip(games.lineup, range(0, len(games.returns), size), strict=True):
            for place, player in enumerate(players[lineup], start):
                if player.kind == "member":
                    self._returns[player.name].append(games.returns[place])
                    if points and not math.isnan(points[place]):
                        self._points[player.name].append(points[place])

    def point(
        self, member: Member, stats: UpdateStats, ranked: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the point of one update, by curve, and forget the member's games.

        It holds the update's statistics, the hyperparameters in force, the curve that PBT ranks if
        there is one, and the mean return and mean points of the games since the last update.
        """
        curves = {**stats.means, **asdict(stats), **member.hyperparams, **ranked}
        # Frames are the key of the point, and each update has as many steps: these are no curves.
        del curves["frames"], curves["taken_steps"], curves["means"], curves["round_lag"]
        if stats.round_lag is not None:
            curves["round_lag_min"], curves["round_lag_max"] = map(float, stats.round_lag)
        for name, by_member in (("return", self._returns), ("points", self._points)):
            if values := by_member.pop(member.name, []):
                curves[name] = math.fsum(values) / len(values)
        return curves

    def state(self) -> SavedCurves:
        """Return the games since the last updates, for a checkpoint."""
        return SavedCurves(_copied(self._returns), _copied(self._points))

    def load(self, state: SavedCurves) -> None:
        """Take over what `state` returned."""
        self._returns = defaultdict(list, _copied(state.returns))
        self._points = defaultdict(list, _copied(state.points))


def ranked_curve(score: MemberScore, objective: ObjectiveKind) -> Mapping[str, float]:
    """Return the number that PBT ranks as a curve, empty before the first game that counts.

    The return has a curve of its own, of the games since the last update.
    """
    if not score.games or objective == "return":
        return {}
    return {"win_rate" if objective == "win" else "margin": score.objective}


def _copied(by_member: Mapping[str, list[float]]) -> dict[str, list[float]]:
    return {member: list(values) for member, values in by_member.items()}
