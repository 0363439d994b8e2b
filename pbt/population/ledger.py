"""What is known of the weights of one member in this start of the population."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

# Versions whose digests are remembered.
REMEMBERED = 256
# A learner attests a publication before it reports its update, so one update later all is known.
LATE_UPDATES = 2


class Known(NamedTuple):
    """Weights that a learner attested. generation: of the member at that time."""

    generation: int
    weights: int


class LiveAnswer(NamedTuple):
    """Weights that answered for seats of a live member.

    game        number of the first such game
    generation  of the member when the games began, as their rows say
    updates     of the member's learner when this became known
    seats       in which they answered
    """

    game: int
    generation: int
    version: int
    weights: int
    updates: int
    seats: int = 1


class Stored(NamedTuple):
    """A snapshot. weights: the digest of the tensors in the store."""

    snapshot_id: str
    generation: int
    version: int
    weights: int


@dataclass
class Ledger:
    """The weights of one member.

    known      version -> weights that the learner attested
    answers    of weights that are not attested yet, oldest first
    stored     snapshots of versions that are not attested yet
    updates    of the learner
    lost       attestations up to this version may be lost, because a process died
    copied_at  the version at which the present generation began, 0 where it began earlier
    asked      publications to ask the learner for, None: nothing
    """

    known: dict[int, list[Known]] = field(default_factory=dict)
    answers: deque[LiveAnswer] = field(default_factory=deque)
    stored: list[Stored] = field(default_factory=list)
    updates: int = 0
    lost: int = -1
    copied_at: int = 0
    asked: int | None = None

    def attested(self, version: int, known: Known) -> None:
        """Remember attested weights."""
        self.known.setdefault(version, []).append(known)
        if len(self.known) > REMEMBERED:
            del self.known[min(self.known)]

    def of(self, snapshot: Stored) -> list[int]:
        """The weights that were attested at the snapshot's version, in its generation.

        A copy brings other weights under the same version.
        """
        known = self.known.get(snapshot.version, ())
        return [own.weights for own in known if own.generation == snapshot.generation]

    def take_stored(self, version: int) -> list[Stored]:
        """The snapshots whose versions are attested by now.

        version: the one attested last. Snapshots of versions that were skipped are forgotten.
        """
        found = [snapshot for snapshot in self.stored if self.of(snapshot)]
        self.stored = [
            snapshot
            for snapshot in self.stored
            if snapshot not in found and snapshot.version > version
        ]
        return found

    def take_answers(self) -> list[tuple[LiveAnswer, str | None]]:
        """The answers to be compared now, each with what is wrong with it (`acting_problem`).

        Their weights are attested, or were not within LATE_UPDATES of the learner; then no
        attestation will come. Other weights of the same version say nothing before that, because a
        copy brings such weights, and a game with them may end before their learner attests them.
        Answers of versions whose attestation may be lost are forgotten.
        """
        waiting, self.answers = self.answers, deque()
        ready = []
        for answer in waiting:
            problem = acting_problem(answer, self.known.get(answer.version, ()))
            late = self.updates - answer.updates > LATE_UPDATES
            if problem is None or (late and answer.version > self.lost):
                ready.append((answer, problem))
            elif answer.version > self.lost:
                self.answers.append(answer)
        return ready


def acting_problem(answer: LiveAnswer, known: Sequence[Known]) -> str | None:
    """Why weights should not have answered for a member, in words; None: they are its own.

    known: what its learner attested at the version of the answer
    """
    if any(own.weights == answer.weights and own.generation >= answer.generation for own in known):
        return None
    attested = " or ".join(f"{own.weights:016x} of generation {own.generation}" for own in known)
    return (
        f"weights {answer.weights:016x} answered in game {answer.game} as version "
        f"{answer.version}, generation {answer.generation}; its learner attested "
        f"{attested or 'none of that version'}"
    )
