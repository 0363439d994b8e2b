"""The board: one row of numbers per process, written by that process and read by the main one.
No message, no lock, no system call.
"""

import time

import numpy as np

from pbt.transport.memory import Region

PHASES = (
    "starting",
    "waiting",
    "simulating",
    "inferring",
    "learning",
    "gathering",
    "game",
    "paused",
)

COLUMNS = (
    "beat_s",
    "phase",
    "phase_since_s",
    "detail",
    "simulate_s",
    "infer_s",
    "wait_s",
    "learn_s",
    "gather_s",
    "produced",
    "dropped_voided",
    "dropped_generation",
    "rows_served",
    "forwards",
    "requests",
    "trained",
    "queue",
)

_COLUMN = {name: index for index, name in enumerate(COLUMNS)}
_BEAT, _PHASE, _SINCE, _DETAIL = (
    _COLUMN[name] for name in ("beat_s", "phase", "phase_since_s", "detail")
)
_PHASE_CODE = {name: float(code) for code, name in enumerate(PHASES)}
# 8 cells are a cache line: neighbours do not share one.
_CELLS = -(-len(COLUMNS) // 8) * 8


def board_bytes(processes: int) -> int:
    """How large a region a board needs."""
    return processes * _CELLS * 8


class Row:
    """One process's row. One thread writes; a second one may `add` to other columns.

    beat_s, phase_since_s  time.monotonic(), which all processes of a machine share; 0 = never
    phase                  what the process does now; detail: the table whose game runs in phase
                           "game", else -1
    *_s                    seconds spent so far, by stage
    the others             counters: rows produced and dropped by reason, rows served, forward
                           passes, requests, rows trained
    queue                  rows that wait now
    """

    def __init__(self, cells: "memoryview[float]") -> None:
        self._cells = cells

    def enter(self, phase: str, detail: int = -1) -> None:
        """From now on the process is in this phase."""
        cells = self._cells
        # The time first: who reads in between sees an old phase that looks young, never a young one
        # that looks old.
        cells[_SINCE] = cells[_BEAT] = time.monotonic()
        cells[_DETAIL] = detail
        cells[_PHASE] = _PHASE_CODE[phase]

    def beat(self) -> None:
        """A sign of life."""
        self._cells[_BEAT] = time.monotonic()

    def add(self, column: str, amount: float) -> None:
        """Add to a counter or to the seconds of a stage."""
        self._cells[_COLUMN[column]] += amount

    def set(self, column: str, value: float) -> None:
        """Put a counter that is kept elsewhere."""
        self._cells[_COLUMN[column]] = value

    def clear(self) -> None:
        """All zero, as before the process was started. Only while no process writes the row."""
        for cell in range(len(self._cells)):
            self._cells[cell] = 0.0

    @property
    def phase(self) -> str:
        return PHASES[int(self._cells[_PHASE])]

    def read(self) -> dict[str, float]:
        """Every column; `PHASES[int(read["phase"])]` is the word. `phase_since_s` is never that
        of an earlier phase than the one it stands with.
        """
        while True:
            facts = list(self._cells)
            facts[_SINCE], facts[_PHASE], facts[_DETAIL] = (
                self._cells[cell] for cell in (_SINCE, _PHASE, _DETAIL)
            )
            if self._cells[_SINCE] == facts[_SINCE]:
                return dict(zip(COLUMNS, facts, strict=False))


class ProcessBoard:
    """Rows for so many processes, [processes, cells] float64; zero at birth. Attaching is
    building it over the same region.
    """

    def __init__(self, processes: int, region: Region | None = None) -> None:
        shape = (processes, _CELLS)
        cells = np.zeros(shape) if region is None else region.array(np.float64, shape)
        self.processes = processes
        self._rows = [Row(row.data.cast("B").cast("d")) for row in cells]

    def row(self, process: int) -> Row:
        return self._rows[process]
