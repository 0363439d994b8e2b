"""What the controller knows of one member."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from pbt.hyperparams import Hyperparams


@dataclass
class Member:
    """One policy of the population. policy: its index in the policy table.

    generation   raised by every copy;  round: rounds decided so far
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

    @property
    def typed_hyperparams(self) -> Hyperparams:
        return Hyperparams.from_flat(self.hyperparams)

    def state(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def load(cls, state: dict[str, Any]) -> Self:
        return cls(**{f.name: state[f.name] for f in fields(cls)})
