"""Schedules of hyperparameters: what a member's schedule asks for at a count of frames."""

from pbt.config.schema import RunConfig
from pbt.hyperparams import scheduled_hyperparams
from pbt.population.members import Member
from pbt.records import Directive


def scheduled_directive(config: RunConfig, member: Member, frames: int) -> Directive | None:
    """Return the directive that puts a member's scheduled values in force.

    Returns None where the member has no schedule or its values are in force already.
    """
    override = config.members.get(member.name)
    if override is None or not override.schedule:
        return None
    target = scheduled_hyperparams(
        config, member.name, tuple(member.typed_hyperparams.shaping), frames
    ).flat()
    changed = tuple(name for name, value in target.items() if value != member.hyperparams[name])
    if not changed:
        return None
    return Directive(member.name, member.round, None, None, target, changed)


def schedule_text(member: Member, directive: Directive) -> str:
    """Return a scheduled change in words, before it is in force."""
    steps = (
        f"{name} {member.hyperparams[name]:.6g} -> {directive.hyperparams[name]:.6g}"
        for name in directive.mutated
    )
    return f"schedule: {', '.join(steps)}"
