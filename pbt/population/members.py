"""What the controller knows of one member."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from pbt.hyperparams import Hyperparams


@dataclass
class Member:
    """One policy of the population. policy: its index in the policy table.

    generation   raised by every copy;  round: rounds decided so far
    failed  it cannot learn any more in this start of the run
    newest_snapshot  id of its newest playable one, or of the one it copied since
    last_event   the newest PBT event in words, for people
    """

    name: str
    role: str
    policy: int
    hyperparams: dict[str, float]
    generation: int = 0
    round: int = 0
    newest_snapshot: str | None = None
    finished: bool = False
    copies: int = 0
    last_event: str = ""
    failed: bool = False

    @property
    def learning(self) -> bool:
        return not (self.finished or self.failed)

    @property
    def refused(self) -> str:
        """Why its rows are not trained on, empty while they are."""
        return "failed" if self.failed else "finished" if self.finished else ""

    @property
    def typed_hyperparams(self) -> Hyperparams:
        return Hyperparams.from_flat(self.hyperparams)

    def snapshot_metadata(self, frames: int, version: int) -> dict[str, str]:
        """What a file of its weights says. frames, version: its learner's clocks."""
        facts = {
            "member": self.name,
            "role": self.role,
            "frames": frames,
            "version": version,
            "generation": self.generation,
        }
        return {name: str(value) for name, value in facts.items()}

    def state(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def load(cls, state: dict[str, Any]) -> Self:
        """Older checkpoints know of no failing."""
        return cls(
            **{f.name: state[f.name] for f in fields(cls) if f.name in state or f.name != "failed"}
        )
