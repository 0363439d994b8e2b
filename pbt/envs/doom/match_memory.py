"""Memory that a table of a match shares with the process of its engines: one row per seat."""

import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray


class MatchMemory:
    """Arrays over a memfd. The table writes `pressed`, the process of the engines all others.

    pressed   [seats, buttons] float64: values of the buttons
    measured  [seats, variables] float64
    screens   [seats, h, w, 3] uint8
    tics      [seats] int64: of the episode, as each engine counts them
    over      [seats] bool: the engine says that the episode is over
    """

    def __init__(
        self, descriptor: int, seats: int, buttons: int, variables: int, screen: tuple[int, int]
    ) -> None:
        """Map the memory. The descriptor may be closed afterwards.

        screen  (height, width) of what is seen
        """
        shapes: list[tuple[tuple[int, ...], Any]] = [
            ((seats, buttons), np.float64),
            ((seats, variables), np.float64),
            ((seats,), np.int64),
            ((seats, *screen, 3), np.uint8),
            ((seats,), np.bool_),
        ]
        sizes = [int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in shapes]
        if os.fstat(descriptor).st_size < sum(sizes):
            os.ftruncate(descriptor, sum(sizes))
        memory = mmap.mmap(descriptor, sum(sizes))
        starts = [sum(sizes[:index]) for index in range(len(sizes))]
        self.pressed: NDArray[np.float64]
        self.measured: NDArray[np.float64]
        self.tics: NDArray[np.int64]
        self.screens: NDArray[np.uint8]
        self.over: NDArray[np.bool_]
        self.pressed, self.measured, self.tics, self.screens, self.over = (
            np.frombuffer(memory, dtype, int(np.prod(shape)), start).reshape(shape)
            for (shape, dtype), start in zip(shapes, starts, strict=True)
        )
