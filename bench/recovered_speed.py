"""How fast a training is, and how soon after a fault it is as fast as before, and stays so."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

STEP_S = 0.25
NEVER = float("inf")


@dataclass(frozen=True)
class RowsMade:
    """Rows of experience since the training began, by the moment of a look, ascending."""

    times_s: Sequence[float]
    rows: Sequence[int]

    def at(self, at_s: float) -> float:
        """Between two looks as if they had come evenly. Raises: ValueError for a moment before the first look or after the last one."""
        if not self.times_s or not self.times_s[0] <= at_s <= self.times_s[-1]:
            looked = f"from {self.times_s[0]:.2f} to {self.times_s[-1]:.2f} s" if self.times_s else "never"
            raise ValueError(f"the rows at {at_s:.2f} s are not known: the training was looked at {looked}")
        after = bisect_left(self.times_s, at_s)
        if self.times_s[after] == at_s:
            return float(self.rows[after])
        (t0, t1), (r0, r1) = self.times_s[after - 1 : after + 1], self.rows[after - 1 : after + 1]
        return r0 + (r1 - r0) * (at_s - t0) / (t1 - t0)

    def rate(self, begin_s: float, end_s: float) -> float:
        """Rows a second."""
        return (self.at(end_s) - self.at(begin_s)) / (end_s - begin_s)


def back_after(made: RowsMade, since_s: float, limit_s: float, hold_s: float, window_s: float, wanted: float) -> float:
    """Seconds from since_s until the speed is as wanted, at most limit_s; NEVER when it is not.

    That is the first moment from which on the mean over window_s reaches what is wanted, and the mean up to the end of all that is watched,
    limit_s + hold_s after since_s, does as well: a single fast stretch of a slower training is no return.
    """
    assert window_s <= hold_s, "the last window ends with what is watched"
    end_s = since_s + limit_s + hold_s
    begins_s = (since_s + step * STEP_S for step in range(int(limit_s / STEP_S) + 1))
    found = (at_s for at_s in begins_s if made.rate(at_s, at_s + window_s) >= wanted and made.rate(at_s, end_s) >= wanted)
    return next(found, NEVER) - since_s
