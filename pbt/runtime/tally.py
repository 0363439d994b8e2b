"""Counters and stage times of all processes, those that died included: the board holds the living ones'."""

from collections import Counter
from collections.abc import Sequence

from pbt.transport.board import Board

STAGES = ("simulate", "infer", "wait", "gather", "learn")
DROPPED = ("voided", "generation")
_MOMENTARY = ("beat_s", "phase", "phase_since_s", "detail", "queue")


class Tally:
    """rows: name of a process -> its row of the board. *_before: carried over from a checkpoint."""

    def __init__(self, board: Board, names: Sequence[str]) -> None:
        self.rows = {name: board.row(index) for index, name in enumerate(names)}
        self._buried = {name: Counter[str]() for name in names}
        self.produced_before = 0
        self.dropped_before: Counter[str] = Counter()

    def of(self, name: str) -> dict[str, float]:
        """Everything one process counted since the run began, whoever stood in for it."""
        buried = self._buried[name]
        return {column: value + buried[column] for column, value in self.rows[name].read().items() if column not in _MOMENTARY}

    def bury(self, names: Sequence[str]) -> None:
        """These processes are dead: keep what they counted and clear their rows."""
        for name in names:
            self._buried[name] = Counter(self.of(name))
            self.rows[name].clear()

    def total(self, column: str) -> float:
        return sum(self.of(name)[column] for name in self.rows)

    def produced(self) -> int:
        return self.produced_before + int(self.total("produced"))

    def dropped(self) -> Counter[str]:
        """Rows that workers dropped, by reason."""
        return self.dropped_before + Counter({reason: int(self.total(f"dropped_{reason}")) for reason in DROPPED})

    def stage_s(self) -> dict[str, float]:
        """Seconds by stage, summed over processes."""
        return {stage: self.total(f"{stage}_s") for stage in STAGES}
