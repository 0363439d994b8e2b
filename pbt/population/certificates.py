"""What a wiring certificate compares, as pure functions of what the parts of a run say."""

import math
from collections.abc import Mapping

import numpy as np

from pbt.config.mutable import SHAPING_PREFIX
from pbt.hyperparams import spec_of
from pbt.learning.attesting import LogProbSample
from pbt.records import WiringCertificate, WiringCheck

CHECKS = (
    "values",
    "published",
    "acting",
    "opponents",
    "snapshots",
    "copy",
    "generation",
    "actor_log_prob",
    "learner_log_prob",
)
"""The names of the checks, in the order in which a certificate lists them.

values            the optimiser's learning rate, entropy coefficient, beta1 and shaping weights =
                  the league's, those of the directive in force
published         the weights that readers find = those that the learner says it published
acting            the weights that answered for a live member = those of its learner at that version
opponents         the weights that answered for a frozen player = those of the player in the row
snapshots         the stored tensors = the learner's weights at the version that the row names
copy              weights and optimiser moments after a copy = those of the snapshot
generation        no row of a batch is older than the weights that the member copied
actor_log_prob    log-probabilities that actors stored = those computed again from the rows
learner_log_prob  log-probabilities that the learner trained with = those computed again
"""


def values_problem(
    used: Mapping[str, float],
    league: Mapping[str, float],
    factors: Mapping[str, float],
    reward_scale: float,
) -> str | None:
    """What differs between an optimiser's values and the league's, in words; None: nothing.

    used          see `pbt.learning.attesting.Attestation.values`
    league        the flat hyperparameters in force
    factors       of the annealing and of the batch's size, by hyperparameter
    reward_scale  by which the learner multiplies shaping weights
    """
    expected = {name: _in_use(name, value, factors, reward_scale) for name, value in league.items()}
    differing = [
        f"{name} is {used.get(name)!r} in the optimiser, {expected.get(name)!r} in the league"
        for name in sorted({*used, *expected})
        if used.get(name) != expected.get(name)
    ]
    return "; ".join(differing) or None


def _in_use(name: str, value: float, factors: Mapping[str, float], reward_scale: float) -> float:
    """The value as the learner computes with it, by the same operations in the same order."""
    if name.startswith(SHAPING_PREFIX):
        return float(np.float32(value * reward_scale))
    return value * factors.get(name, 1.0) if spec_of(name).mark.annealed else value


def sample_problem(sample: LogProbSample, of: str) -> str | None:
    """Why log-probabilities were not the same, in words; None: they were. of: whose they were."""
    if sample.largest <= sample.allowed:
        return None
    if math.isinf(sample.largest):
        return f"rows that the {of} trained on are not those of its batch"
    return (
        f"log-probabilities of the {of} differ by {sample.largest:.3g} (in parts of 1 + |log p|) "
        f"from those computed again for {sample.rows} rows; rounding allows {sample.allowed:g}"
    )


class OpenCertificate:
    """A certificate that is not finished.

    generation  of the member, with the copy that its round asks for
    """

    def __init__(self, member: str, round: int, frames: int, generation: int) -> None:
        self.member, self.round, self.frames, self.generation = member, round, frames, generation
        self._checks = {name: WiringCheck(name, 0, None, None) for name in CHECKS}

    def add(
        self, name: str, problem: str | None, compared: int, largest: float | None = None
    ) -> bool:
        """Count comparisons of a check. True: this is its first problem.

        largest: the largest difference, where the check allows one
        """
        before = self._checks[name]
        known = before.largest
        if largest is not None and math.isfinite(largest):
            known = max(largest, known or 0.0)
        count, first = before.compared + compared, before.problem or problem
        self._checks[name] = WiringCheck(name, count, known, first)
        return before.problem is None and problem is not None

    def finished(self) -> WiringCertificate:
        checks = tuple(self._checks.values())
        return WiringCertificate(self.member, self.round, self.frames, checks)
