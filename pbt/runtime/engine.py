"""What the outside sees of a running population, whatever the placement."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from pbt.checkpoint.files import Checkpoint
from pbt.config.schema import RunConfig
from pbt.population.controller import Controller
from pbt.records import GameKind


@dataclass(frozen=True)
class ProcessStatus:
    """One process of a run, for people.

    roles       what it hosts: "main", "worker", "server", "learner m0 m2"
    state       "simulating", "waiting", ..., or "starting", "down"
    rate        rows per second over the last seconds: produced by a worker, served by a server,
                trained by a learner (0 for main)
    restarts    how often it was started again;  beat_age_s: since its last sign of life
    stage_s     seconds by stage since the run began
    queue       what waits in front of it: full slots for a learner, rows for a server, 0 for others
    """

    name: str
    pid: int
    roles: tuple[str, ...]
    state: str
    rate: float = 0.0
    restarts: int = 0
    beat_age_s: float = 0.0
    stage_s: Mapping[str, float] = field(default_factory=dict)
    queue: int = 0


class Engine(Protocol):
    """One population in one placement. Used from one thread; `close` always, whatever happened.

    games        finished and voided ones by kind;  rows_trained: consumed by learners
    """

    config: RunConfig
    games: Counter[GameKind]

    @property
    def rows_trained(self) -> int: ...

    @property
    def controller(self) -> Controller: ...

    @property
    def done(self) -> bool:
        """Every member finished or failed, the closing evaluation is played."""

    def closing(self) -> tuple[int, int]:
        """Games of the closing evaluation: over, and planned. None are over while somebody
        learns.
        """

    def clocks(self) -> dict[str, int]:
        """Member -> frames consumed."""

    def restore(self, checkpoint: Checkpoint) -> int:
        """Before `run`: take over a saved state. Returns how many open games could not be
        replayed and were voided (those known so far).
        """

    def take_over_hyperparams(self) -> None:
        """Before `run`: learners take what the controller's members say (a person edited them)."""

    def edit(self, config: RunConfig) -> None:
        """Go on with another config that differs in `pbt.config.resume.LIVE` alone. Only at
        rest, and only while somebody learns.
        """

    def run(
        self, between_turns: Callable[[], None], look: Callable[[], None] = lambda: None
    ) -> bool:
        """THE main loop. True: done; False: asked to stop.

        between_turns is called often: checkpoints and edits live there. look is, too, and goes on
        while a rest is waited for, which takes as long as the slowest game's step: the display
        lives there, and changes nothing.

        Raises: EnvError when a game raises the same error twice, EngineError when the run cannot go
        on.
        """

    def at_rest(self) -> AbstractContextManager[None]:
        """Inside, nothing moves and everything that happened has been recorded; a rest within a
        rest ends with the outer one.

        Raises: EngineError when that cannot be reached; training goes on.
        """

    def take_cut(self, number: int) -> Checkpoint:
        """The state of the whole population. Only at rest; to be written before rest ends."""

    def needed(self) -> set[str]:
        """Snapshots that some next game may seat, or that sit now. Only at rest."""

    def remove_snapshots(self, snapshot_ids: set[str]) -> None:
        """Seat these no more."""

    def rows_produced(self) -> int: ...

    def rows_standing(self) -> int:
        """Rows produced and neither trained nor dropped yet. Only at rest (else a moment's
        guess).
        """

    def dropped(self) -> Counter[str]:
        """Rows produced and never trained, by reason."""

    @property
    def stage_s(self) -> Mapping[str, float]:
        """Seconds by stage, summed over processes."""

    def processes(self) -> list[ProcessStatus]:
        """Every process of the run, the calling one first."""

    def weights_digest(self) -> str:
        """SHA-256 over every member's weights, in order: equal runs have equal digests."""

    def close(self) -> None:
        """End every process and give shared memory back. Never raises for what is gone already."""
