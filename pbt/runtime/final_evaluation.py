"""The final evaluation: games that the workers play when no member learns any more."""

from collections.abc import Sequence


class FinalEvaluation:
    """Divides the games of the final evaluation among the workers.

    In rounds they are not dealt out: the planners know the part of every table.

    games  to be played by all workers together
    begun  whether the workers were told to play them
    quiet  workers that have played all of theirs; when they die, each is given games anew
    """

    def __init__(self, games: int, workers: Sequence[str], *, dealt: bool = True) -> None:
        self.games, self._workers, self._dealt = games, tuple(workers), dealt
        self.quiet: set[str] = set()
        self.begun = False

    def shares(self, played: int) -> dict[str, int]:
        """Return how many of the games that are left each worker is told of, 0 before they begin.

        played: games that are over.
        """
        if self.begun and not self._dealt:
            return dict.fromkeys(self._workers, self.games)
        left = max(0, self.games - played) if self.begun else 0
        return {
            name: left // len(self._workers) + (index < left % len(self._workers))
            for index, name in enumerate(self._workers)
        }

    @property
    def over(self) -> bool:
        return self.begun and self.quiet >= set(self._workers)
