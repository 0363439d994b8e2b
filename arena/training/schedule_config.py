"""A lineage as a configuration of its own: one member that trains with the same hyperparameters
at the same frames.
"""

from collections.abc import Mapping

from arena.league.frames import frames_text
from arena.league.lineage import Lineage
from pbt.config.load import config_from_table
from pbt.config.population import MemberOverride, ScheduleStep
from pbt.config.schema import RunConfig
from pbt.hyperparams import Hyperparams


def schedule_config(
    config: RunConfig, lineage: Lineage, label: str, roles: Mapping[str, str]
) -> RunConfig:
    """The population's configuration with one member per role, PBT off, and the lineage as the
    schedule of the member of its role.

    label: of the policy, for the description;  roles: member -> role, in the population's order
    It stops where the lineage does, unless learning is annealed: that is a matter of the stop, so
    the population's is kept. The description says
    which of its snapshots is the counterpart of the policy.
    """
    present = list(dict.fromkeys(roles.values()))
    name = f"m{present.index(roles[lineage.steps[-1].member])}"
    by_frames = {step.frames: step.hyperparams for step in lineage.steps}
    schedule = tuple(
        _step(frames, Hyperparams.from_flat(values)) for frames, values in sorted(by_frames.items())
    )
    stop = config.stop_at_frames if config.learning.anneal_to < 1 else max(1, lineage.frames)
    twin = (
        "its last snapshot"
        if stop == lineage.frames
        else (
            f"its snapshot at {frames_text(lineage.frames)} (it trains on, annealed towards "
            "its stop)"
        )
    )
    changed = {
        "description": (
            f"The hyperparameters of {label} over its {lineage.frames} frames, as "
            f"one member without PBT; {twin} is the counterpart"
        ),
        "stop_at_frames": stop,
        "population": {"members": 1 if len(present) == 1 else dict.fromkeys(present, 1)},
        "members": {name: MemberOverride(schedule=schedule).model_dump()},
        "pbt": config.pbt.model_copy(update={"enabled": False}).model_dump(),
    }
    return config_from_table({**config.model_dump(mode="json"), **changed}, f"schedule of {label}")


def _step(frames: int, values: Hyperparams) -> ScheduleStep:
    return ScheduleStep(
        at_frames=frames,
        learning_rate=values.learning_rate,
        entropy_coef=values.entropy_coef,
        adam_beta1=values.adam_beta1,
        shaping=dict(values.shaping),
    )
