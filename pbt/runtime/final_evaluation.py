"""The evaluation games that are played when nobody learns any more, shared among the workers."""

from collections.abc import Sequence


class FinalEvaluation:
    """games: to be played by all workers together. begun: workers were told to."""

    def __init__(self, games: int, workers: Sequence[str]) -> None:
        self._games, self._workers = games, tuple(workers)
        self._quiet: set[str] = set()
        self.begun = False

    def shares(self, played: int) -> dict[str, int]:
        """By worker, how many of the games that are left are its; none before they begin.
        played: so far.
        """
        left = max(0, self._games - played) if self.begun else 0
        return {
            name: left // len(self._workers) + (index < left % len(self._workers))
            for index, name in enumerate(self._workers)
        }

    def over_of(self, played: int) -> tuple[int, int]:
        """(games over, games planned). A game that began before the closing may make one more
        than planned; played: so far.
        """
        return min(played, self._games), self._games

    def quiet(self, worker: str) -> None:
        """The worker's share is over."""
        self._quiet.add(worker)

    def restart(self) -> None:
        """All workers died: each gets another share."""
        self._quiet.clear()

    @property
    def over(self) -> bool:
        return self.begun and self._quiet >= set(self._workers)
