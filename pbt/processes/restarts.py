"""The restart policy: when a dead process is started again, and when that is given up.

Pure: the caller tells it of deaths and of progress, and does the waiting.
"""

from dataclasses import dataclass

FIRST_DELAY_S, LONGEST_DELAY_S = 0.5, 8.0


@dataclass
class RestartPolicy:
    """The deaths of one fault domain. Deaths without progress in between are in a row.

    max_in_a_row  number of deaths in a row that are forgiven
    in_a_row      number of deaths since there was progress
    """

    max_in_a_row: int
    in_a_row: int = 0
    _progress: int = -1

    def died(self, progress: int) -> float | None:
        """Count a death. Returns the delay in seconds before the next start, None to give up.

        progress  any number that grows when the domain has done its job
        The first of a row is followed by a start at once, the others after 0.5, 1, 2, ... seconds.
        """
        self.in_a_row = 1 if progress > self._progress else self.in_a_row + 1
        self._progress = progress
        if self.in_a_row > self.max_in_a_row:
            return None
        if self.in_a_row == 1:
            return 0.0
        return min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (self.in_a_row - 2))
