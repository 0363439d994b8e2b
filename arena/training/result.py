"""What a training did, and whether its caller may rely on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arena.assessment.answer import Assessment
from arena.data.status import RunStatus, failures
from arena.training.progress import Progress
from pbt.errors import FailedMembersError, PbtError


@dataclass(frozen=True)
class Result:
    """The result of a training.

    name            of the population
    finished        every member reached its stop; otherwise the training was asked to stop, and can
                    be resumed
    progress        at the end
    status          the last status of its processes and rows
    weights_sha256  hash over the weights of all members; with the placement "serial" equal configs
                    and seeds give equal hashes, however often the run was interrupted
    earlier_fault   `wiring` of the incarnations before the last one
    head            of the population's chain, which stands for all its rows
    encoder         a line that says what becomes of the images that are seen; "" without images
    defaults        key -> value, as in `Start`
    assessment      what may be said of the population at the end; None where it cannot be read
    """

    name: str
    finished: bool
    progress: Progress
    status: RunStatus
    weights_sha256: str
    earlier_fault: str | None = None
    head: str = ""
    encoder: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    assessment: Assessment | None = None

    @property
    def wiring(self) -> str | None:
        """What the parts of the training did not agree on, in words; None when all agreed."""
        return self.earlier_fault or self.progress.wiring

    @property
    def failures(self) -> list[str]:
        """A line for each member that failed, with the reason."""
        return failures(self.status.members)

    def refuse_faults(self) -> None:
        """Raises: FailedMembersError when every member failed; PbtError when the parts did not
        agree, or when members could not learn.
        """
        if len(self.failures) == len(self.status.members):
            raise FailedMembersError(f"every member failed; {self.failures[0]}")
        if unlearned := [
            row for row in self.status.members if row.refused_updates > 0 == row.updates
        ]:
            counts = ", ".join(f"{row.name} ({row.refused_updates} updates)" for row in unlearned)
            raise PbtError(
                f"nothing was learned by {counts}: every update was refused, because a loss or a "
                "gradient was not finite; look at the game's rewards and observations with `arena "
                "env check`, and at learning.reward_scale and learning.learning_rate"
            )
        if self.wiring is not None:
            raise PbtError(
                f"wiring fault: {self.wiring}; the training went on and everything is stored, but "
                f"do not rely on it; `arena rounds wiring {self.name}` lists what was compared: "
                "please report it"
            )
