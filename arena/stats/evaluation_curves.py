"""What the evaluation games of one training say of it: at its end, at a time, and how soon.

The metrics are those of Liu, Yeh and Schwing 2020, "High-throughput synchronous deep RL", section
5: the mean of 100 evaluation episodes, 10 by each of the last 10 policies, at the end or when some
time is over; and the time until the running mean of the last 100 reaches a target.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

POLICIES = 10
EACH = 10
WINDOW = 100


class Episode(NamedTuple):
    """An evaluation game of one seat.

    member  whose snapshot played it
    policy  id of the snapshot
    at_s    when it ended, in seconds of the training
    value   its return
    """

    member: str
    policy: str
    at_s: float
    value: float


class NewestMean(NamedTuple):
    """The mean return of the newest policies.

    value     the mean of all counted episodes
    episodes  how many were counted
    policies  by which they were played
    """

    value: float
    episodes: int
    policies: int


def newest_mean(episodes: Sequence[Episode], until_s: float | None = None) -> NewestMean | None:
    """The mean of the newest 10 episodes by each of the newest 10 policies of every member.

    episodes  in the order in which they ended
    until_s   those that ended later do not count; None: all count
    Returns None where none counts. Fewer are counted where fewer were played.
    """
    by_member: dict[str, dict[str, list[float]]] = {}
    for episode in episodes:
        if until_s is None or episode.at_s <= until_s:
            played = by_member.setdefault(episode.member, {})
            played.setdefault(episode.policy, []).append(episode.value)
    # Policies stand in the order of their first episodes, which is that of their training.
    counted = [
        values[-EACH:] for played in by_member.values() for values in [*played.values()][-POLICIES:]
    ]
    values = [value for own in counted for value in own]
    return NewestMean(fmean(values), len(values), len(counted)) if values else None


def seconds_until(episodes: Sequence[Episode], target: float) -> float | None:
    """When the running mean of the last 100 episodes first reached the target; None: it never did.

    episodes: in the order in which they ended
    """
    for end in range(WINDOW, len(episodes) + 1):
        if fmean(one.value for one in episodes[end - WINDOW : end]) >= target:
            return episodes[end - 1].at_s
    return None
