"""The hyperparameters of members over frames. Pure."""

from collections.abc import Mapping, Sequence

from arena.league.lineage import Histories

Steps = Sequence[tuple[int, float]]
"""(frames from which on, value), by frames."""


def values_over_frames(
    histories: Histories, clocks: Mapping[str, int]
) -> dict[str, dict[str, Steps]]:
    """Hyperparameter -> member -> its values; each ends with what holds now.

    clocks  member -> its frames now
    """
    found: dict[str, dict[str, Steps]] = {}
    for member, clock in clocks.items():
        for name, steps in _of_member(histories, member, clock).items():
            found.setdefault(name, {})[member] = steps
    return found


def _of_member(histories: Histories, member: str, clock: int) -> dict[str, Steps]:
    changes = [(0, 0.0, histories.initial.get(member, {}))]
    changes += [
        (one.frames, one.created_at, one.directive.hyperparams)
        for one in histories.rounds.get(member, ())
    ]
    changes += [(frames, 0.0, values) for frames, values in histories.schedules.get(member, ())]
    changes += [(min(one.frames, clock), one.created_at, one.values) for one in histories.edits]
    steps: dict[str, list[tuple[int, float]]] = {}
    for frames, _, values in sorted(changes, key=lambda one: one[:2]):
        for name, value in values.items():
            own = steps.setdefault(name, [])
            if not own or own[-1][1] != value:
                own.append((frames, value))
    for own in steps.values():
        own.append((max(clock, own[-1][0]), own[-1][1]))
    return dict(steps)
