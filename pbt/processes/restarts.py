"""When a dead process is started again, and when that is given up. Pure: time and progress are
told.
"""

from dataclasses import dataclass

FIRST_DELAY_S, LONGEST_DELAY_S = 0.5, 8.0


@dataclass
class RestartPolicy:
    """Of one fault domain. A death is one of a row while nothing was trained since the death before
    it.

    max_in_a_row  so many are forgiven
    deaths        all so far;  in_a_row: since there was progress
    """

    max_in_a_row: int
    deaths: int = 0
    in_a_row: int = 0
    _progress: int = -1

    def died(self, progress: int) -> float | None:
        """Count a death. progress: anything that grows when the domain did its job. Returns the
        delay before it is started again, None to give up.

        The first of a row is started again at once, the others after 0.5, 1, 2, ... seconds.
        """
        self.deaths += 1
        self.in_a_row = 1 if progress > self._progress else self.in_a_row + 1
        self._progress = progress
        if self.in_a_row > self.max_in_a_row:
            return None
        return (
            0.0
            if self.in_a_row == 1
            else min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (self.in_a_row - 2))
        )
