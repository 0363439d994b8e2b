"""Answers about where weights come from."""

from typing import Literal

from pydantic import BaseModel


class WeightsBody(BaseModel):
    """A member's weights at one moment.

    member      which member
    frames      of the member's clock
    generation  how often the member had copied another one
    created_at  seconds since 1970; null while the member learns
    snapshot    id of the snapshot that holds them, null while the member learns
    """

    member: str
    frames: int
    generation: int
    created_at: float | None
    snapshot: str | None


class FirstWeightsBody(BaseModel):
    """Weights of another population, or an import, that a member of a new population began with.

    player     what they were called then, such as "first/m2@1.2M"
    snapshot   their id
    optimizer  the optimiser's moments came along
    """

    player: str
    snapshot: str
    optimizer: bool


class LineageStepBody(BaseModel):
    """One step of a lineage.

    frames         where it happened, counted along the chain
    member         that trained from here on
    member_frames  of the member's own clock; for an edit about where it stood
    kind           what happened
    hyperparams    in force from here on
    changed        names of those that differ from the step before
    round          number of the PBT round that decided it, null for other steps
    verdict        the round's reasons, empty for other steps
    donor          the weights that were copied, or that the member joined with; else null
    began          the weights of another population that the member started with; else null. Their
                   frames are not counted
    """

    frames: int
    member: str
    member_frames: int
    kind: Literal["start", "join", "copy", "mutate", "edit", "schedule"]
    hyperparams: dict[str, float]
    changed: list[str]
    round: int | None
    verdict: str
    donor: WeightsBody | None
    began: FirstWeightsBody | None


class LineageBody(WeightsBody):
    """The chain of copies and mutations behind a policy.

    player          the policy, as it was asked for
    lineage_frames  length of the whole chain
    steps           oldest first
    """

    player: str
    lineage_frames: int
    steps: list[LineageStepBody]
