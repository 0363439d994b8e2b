"""Turns a lineage into a config: one member trains with its hyperparameters at the same frames."""

from collections.abc import Mapping
from typing import Any

from arena.league.frames import frames_text
from arena.league.lineage import Lineage
from pbt.config.population import MemberOverride, ScheduleStep
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.hyperparams import Hyperparams


def schedule_config(
    config: RunConfig, lineage: Lineage, label: str, roles: Mapping[str, str]
) -> RunConfig:
    """The population's config with one member per role, PBT off, and the lineage as a schedule.

    The schedule is that of the member which plays the lineage's role.

    label  of the policy, for the description
    roles  member -> role, in the population's order
    It begins with the weights that the lineage began with, if these were another population's.
    The run stops where the lineage does. With annealed learning it keeps the population's stop,
    since annealing depends on it. The description says which snapshot is the policy's counterpart.
    """
    role_names = list(dict.fromkeys(roles.values()))
    name = f"m{role_names.index(roles[lineage.steps[-1].member])}"
    by_frames = {step.frames: step.hyperparams for step in lineage.steps}
    schedule = tuple(
        ScheduleStep(at_frames=frames, **Hyperparams.from_flat(values).in_section())
        for frames, values in sorted(by_frames.items())
    )
    algorithm = config.algorithm_of(lineage.steps[-1].member)
    stop = config.stop_at_frames if config.learning.anneal_to < 1 else max(1, lineage.frames)
    members = 1 if len(role_names) == 1 else dict.fromkeys(role_names, 1)
    twin = "its last snapshot"
    if stop != lineage.frames:
        at = frames_text(lineage.frames)
        twin = f"its snapshot at {at} (it trains on, annealed towards its stop)"
    changed_values = {
        "description": (
            f"The hyperparameters of {label} over its {lineage.frames} frames, as "
            f"one member without PBT; {twin} is the counterpart"
        ),
        "stop_at_frames": stop,
        "population": {"members": members, "began": _began(lineage, name)},
        "members": {name: MemberOverride(algorithm=algorithm, schedule=schedule).model_dump()},
        "pbt": config.pbt.model_copy(update={"enabled": False}).model_dump(),
    }
    return config_as_stored(
        {**config.model_dump(mode="json"), **changed_values}, f"schedule of {label}"
    )


def _began(lineage: Lineage, name: str) -> dict[str, dict[str, Any]]:
    """The weights of another population that the lineage began with, for the member `name`."""
    first = lineage.steps[0].began
    if first is None:
        return {}
    return {name: {"weights": first.snapshot, "optimizer": first.optimizer}}
