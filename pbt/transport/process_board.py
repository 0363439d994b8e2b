"""A board is a table in shared memory that shows what every process does: one row per process.

Each process writes its own row and the main process reads them all. That takes no message, no lock
and no system call.
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
# A row is a whole number of cache lines (8 cells each), so no two processes write to the same line.
_CELLS = -(-len(COLUMNS) // 8) * 8


def board_bytes(processes: int) -> int:
    """Size in bytes of the region that a board needs."""
    return processes * _CELLS * 8


class Row:
    """One process's row. One thread writes it; a second one may `add` to other columns.

    beat_s              time of the latest sign of life, 0 = none yet
    phase               what the process does now, an index of PHASES
    phase_since_s       time at which this phase began, 0 = never
    detail              number of the table whose game runs in phase "game", else -1
    simulate_s          seconds spent so far on games
    infer_s             seconds spent so far on acting
    wait_s              seconds spent so far on waiting
    learn_s             seconds spent so far on training
    gather_s            seconds spent so far on copying slots into batches
    produced            rows produced so far
    dropped_voided      rows dropped so far because their game was voided
    dropped_generation  rows dropped so far because their policy's weights were replaced
    rows_served         rows acted for so far
    forwards            forward passes so far
    requests            requests answered so far
    trained             rows trained on so far
    queue               rows that wait now

    Times are time.monotonic(), a clock that all processes of a machine share.
    """

    def __init__(self, cells: "memoryview[float]") -> None:
        self._cells = cells

    def enter(self, phase: str, detail: int = -1) -> None:
        """From now on the process is in this phase."""
        cells = self._cells
        # The time comes first: a reader in between may see the old phase with the new time, but
        # never the new phase with an old time, which would look as if the process hung in it.
        cells[_SINCE] = cells[_BEAT] = time.monotonic()
        cells[_DETAIL] = detail
        cells[_PHASE] = _PHASE_CODE[phase]

    def beat(self) -> None:
        """A sign of life."""
        self._cells[_BEAT] = time.monotonic()

    def add(self, column: str, amount: float) -> None:
        """Add to a counter, or to the seconds of a stage."""
        self._cells[_COLUMN[column]] += amount

    def set(self, column: str, value: float) -> None:
        """Show the value of a counter that is kept elsewhere."""
        self._cells[_COLUMN[column]] = value

    def clear(self) -> None:
        """Set all columns to zero, as at birth. Only while no process writes the row."""
        for cell in range(len(self._cells)):
            self._cells[cell] = 0.0

    @property
    def phase(self) -> str:
        return PHASES[int(self._cells[_PHASE])]

    def read(self) -> dict[str, float]:
        """Every column by name; `PHASES[int(values["phase"])]` is the word for the phase.

        `phase_since_s` never belongs to an earlier phase than the one that is returned with it.
        """
        while True:
            values = list(self._cells)
            values[_SINCE], values[_PHASE], values[_DETAIL] = (
                self._cells[cell] for cell in (_SINCE, _PHASE, _DETAIL)
            )
            if self._cells[_SINCE] == values[_SINCE]:
                return dict(zip(COLUMNS, values, strict=False))


class ProcessBoard:
    """The rows of all processes, [processes, cells] float64, zero at birth.

    Another process attaches to a board by building it over the same region.
    """

    def __init__(self, processes: int, region: Region | None = None) -> None:
        shape = (processes, _CELLS)
        cells = np.zeros(shape) if region is None else region.array(np.float64, shape)
        self.processes = processes
        self._rows = [Row(row.data.cast("B").cast("d")) for row in cells]

    def row(self, process: int) -> Row:
        return self._rows[process]
