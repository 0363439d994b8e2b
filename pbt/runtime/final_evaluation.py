"""The final evaluation: games that the workers play when no member learns any more."""

from collections.abc import Sequence


class FinalEvaluation:
    """Divides the games of the final evaluation among the workers.

    begun  whether the workers were told to play them
    """

    def __init__(self, games: int, workers: Sequence[str]) -> None:
        """games: to be played by all workers together."""
        self._games, self._workers = games, tuple(workers)
        self._quiet: set[str] = set()
        self.begun = False

    def shares(self, played: int) -> dict[str, int]:
        """Return how many of the games that are left each worker plays, 0 before they begin.

        played: games that are over.
        """
        left = max(0, self._games - played) if self.begun else 0
        return {
            name: left // len(self._workers) + (index < left % len(self._workers))
            for index, name in enumerate(self._workers)
        }

    def over_of(self, played: int) -> tuple[int, int]:
        """Return (games over, games planned). played: games that are over.

        A training-time game that ends only now counts too, so `played` may exceed the plan.
        """
        return min(played, self._games), self._games

    def quiet(self, worker: str) -> None:
        """Note that a worker has played all of its games."""
        self._quiet.add(worker)

    def restart(self) -> None:
        """Note that all workers died: each will be given games anew."""
        self._quiet.clear()

    @property
    def over(self) -> bool:
        return self.begun and self._quiet >= set(self._workers)
