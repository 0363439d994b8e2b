"""What `arena.train` and `arena.resume` return."""

from dataclasses import dataclass, field
from pathlib import Path

from arena.training.progress import MemberProgress
from arena.training.result import Result
from pbt.objective import ObjectiveKind


@dataclass(frozen=True)
class TrainedMember:
    """A member at the end of a training, as a flat record.

    role             that it plays
    frames           of its clock
    updates          optimiser steps that were taken since the population began
    refused_updates  steps that were not taken, because a loss or a gradient was not finite
    objective        mean of what PBT ranks over its newest games: a win rate in [0, 1], a margin or
                     a return a game
    games            number of games that it is taken over
    rating           of its newest snapshot that has one: Elo above `random`, margin or return a
                     game; None before any
    rating_low       lower end of the rating's 95 % interval; None where games give none
    rating_high      upper end, None as rating_low
    copies           how often it copied another member
    finished         it reached its stop
    failed           its learner failed for good
    failure          why it failed; "" while it has not
    """

    population: str
    member: str
    role: str
    frames: int
    updates: int
    refused_updates: int
    objective: float
    games: int
    rating: float | None
    rating_low: float | None
    rating_high: float | None
    copies: int
    finished: bool
    failed: bool
    failure: str


@dataclass(frozen=True)
class TrainingResult:
    """What a training did.

    name              of the population
    data              the data directory
    finished          every member reached its stop; otherwise it was asked to stop, and
                      `arena.resume` goes on
    frames            of all members, each counted up to its stop
    seconds           since this start of it
    training_games    number of training games since the population began
    evaluation_games  number of evaluation games since the population began
    ranked_by         what PBT ranks: "win", "margin" or "return"
    weights_sha256    hash over the weights of all members; with the placement "serial" equal
                      configs and seeds give equal hashes, however often it was stopped
    head              of the chain of the population's rows, for `arena verify --head`
    summary           one sentence that says whether it learns; None where that cannot be told
    members           one by one
    training          the whole result, as the command line has it
    """

    name: str
    data: Path
    finished: bool
    frames: int
    seconds: float
    training_games: int
    evaluation_games: int
    ranked_by: ObjectiveKind
    weights_sha256: str
    head: str
    summary: str | None
    members: tuple[TrainedMember, ...]
    training: Result = field(repr=False)

    def records(self) -> list[TrainedMember]:
        """A flat record for each member."""
        return list(self.members)


def training_result(result: Result, data: Path, *, strict: bool) -> TrainingResult:
    """The result for scripts. Raises: as `Result.refuse_faults`, if strict.

    data  the data directory
    """
    if strict:
        result.refuse_faults()
    progress = result.progress
    return TrainingResult(
        name=result.name,
        data=data,
        finished=result.finished,
        frames=progress.frames,
        seconds=progress.elapsed_s,
        training_games=progress.training_games,
        evaluation_games=progress.evaluation_games,
        ranked_by=progress.ranked_by,
        weights_sha256=result.weights_sha256,
        head=result.head,
        summary=None if result.assessment is None else result.assessment.sentence,
        members=tuple(_member(result.name, member) for member in progress.members),
        training=result,
    )


def _member(population: str, member: MemberProgress) -> TrainedMember:
    rating = member.rating
    return TrainedMember(
        population=population,
        member=member.name,
        role=member.role,
        frames=member.frames,
        updates=member.updates,
        refused_updates=member.refused_updates,
        objective=member.objective,
        games=member.games,
        rating=None if rating is None else rating.value,
        rating_low=None if rating is None else rating.low,
        rating_high=None if rating is None else rating.high,
        copies=member.copies,
        finished=member.finished,
        failed=member.failed,
        failure=member.failure,
    )
