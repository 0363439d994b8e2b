"""Why the rounds of a configuration can change nothing, or copy nothing, in words."""

from collections import Counter
from collections.abc import Sequence

from pbt.config.schema import RunConfig
from pbt.config.semantics import member_roles
from pbt.population.pbt_decision import next_due

# With fewer ranked members none copies.
LEAST_MEMBERS = 3


def why_idle(config: RunConfig, roles: Sequence[str]) -> str | None:
    """Return why PBT, though enabled, can never act as it is meant to; None where it can.

    That it can does not say that it will: members may never be ranked, or too much alike.

    roles: names of the game's roles
    """
    pbt = config.pbt
    if not pbt.enabled:
        return None
    first = next_due(0, pbt.period_frames, pbt.warmup_frames)
    if first >= config.stop_at_frames:
        return (
            f"PBT never acts: its first round is at {first} frames (pbt.period_frames = "
            f"{pbt.period_frames}, pbt.warmup_frames = {pbt.warmup_frames}), and members stop at "
            f"{config.stop_at_frames}; shorten them, or set pbt.enabled = false"
        )
    mutates = pbt.mutation_probability > 0.0
    rest = "it only mutates" if mutates else "it never acts"
    if pbt.top_share == 0.0:
        return f"PBT copies nothing, {rest}: pbt.top_share = 0 leaves no member to copy from"
    placed = member_roles(config, roles)
    # Members copy within a role and an algorithm: the largest such group of each role counts.
    groups = Counter((role, config.algorithm_of(name)) for name, role in placed.items())
    counts = Counter[str]()
    for (role, _), members in groups.items():
        counts[role] = max(counts[role], members)
    few = [f"{counts[role]} play {role}" for role in roles if counts[role] < LEAST_MEMBERS]
    if len(few) < len(roles):
        return None
    return (
        f"PBT copies nothing, {rest}: it copies among {LEAST_MEMBERS} or more members of a role, "
        f"and {' and '.join(few)}"
    )


def roles_of_config(config: RunConfig) -> tuple[str, ...]:
    """Return the roles as far as a config names them, for where its game is not made.

    A config that names none has as many members in each, so one stands for all.
    """
    counts = config.population.members
    named = tuple(counts) if isinstance(counts, dict) else ()
    joined = tuple(sorted({one.role for one in config.population.joined.values()}))
    return named or joined or ("it",)
