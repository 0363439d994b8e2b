"""Made-up histories of populations, of which the truth is known."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from arena.assessment.answer import AnchorScore, BestPlayer, StrengthUnit
from arena.assessment.records import (
    MemberFacts,
    PopulationHistory,
    RatedSnapshot,
    RoleHistory,
    StrengthHistory,
)

GOAL = 1_000_000
Curve = Callable[[float], float]
"""Share of the goal -> the true strength of a member at it."""


def grows(share: float) -> float:
    return 600.0 * share


def stagnates(share: float) -> float:
    return 500.0 * min(1.0, share / 0.3)


def stays(share: float) -> float:
    return 300.0


def role(
    curve: Curve,
    *,
    members: Sequence[str] = ("m0", "m1", "m2", "m3"),
    snapshots: int = 10,
    progress: float = 0.8,
    noise: float = 20.0,
    seed: int = 0,
    name: str = "player",
    among: int = 1,
) -> RoleHistory:
    """Snapshots of members on one curve, each measured with noise.

    progress  share of the goal that the newest snapshot has trained
    """
    rng = np.random.default_rng(seed)
    rated = []
    for member in members:
        for share in np.linspace(0.0, progress, snapshots):
            value = curve(float(share)) + rng.normal(0.0, noise)
            frames = round(share * GOAL)
            low, high = value - 1.96 * noise, value + 1.96 * noise
            label = f"demo/{member}@{frames}"
            score = AnchorScore("random", 0.9, 0.8, 0.95, 40)
            rated.append(RatedSnapshot(member, frames, label, value, low, high, 200, (score,)))
    best = max(rated, key=lambda one: one.value)
    # Errors of 40 candidates are below 3 standard errors together.
    claim = BestPlayer(
        best.player, best.member, best.value, best.value - 3 * noise, None, len(rated)
    )
    anchors = (AnchorScore("random", 0.988, 0.94, 0.999, 84),)
    covariance = np.diag(np.full(len(rated), noise**2))
    return RoleHistory(name, tuple(rated), covariance, claim, anchors, among)


def empty_role() -> RoleHistory:
    return RoleHistory("player", (), np.zeros((0, 0)), None)


def strengths(*roles: RoleHistory, unit: StrengthUnit = "elo") -> StrengthHistory:
    return StrengthHistory(unit, 25.0, unit != "return", 5_000, roles)


def facts(member: str, frames: int, state: str = "learning") -> MemberFacts:
    return MemberFacts(
        member, "player", state, frames, 500, first_entropy=1.9, entropy=0.8, frames_per_s=100.0
    )


def population(
    curve: Curve, *, state: str = "running", progress: float = 0.8, **changed: object
) -> PopulationHistory:
    """A population of four members on one curve. changed: arguments of `role`."""
    own = role(curve, progress=progress, **changed)  # type: ignore[arg-type]
    frames = round(progress * GOAL)
    return PopulationHistory(
        population="demo",
        game="connect_four",
        state=state,
        failure="",
        faults=(),
        warnings=(),
        goal_frames=GOAL,
        copies=3,
        mutations=12,
        members=tuple(facts(f"m{one}", frames) for one in range(4)),
        strengths=strengths(own),
    )


def with_member(history: PopulationHistory, at: int, **changed: object) -> PopulationHistory:
    """The history with other facts of one member."""
    members = list(history.members)
    members[at] = replace(members[at], **changed)  # type: ignore[arg-type]
    return replace(history, members=tuple(members))
