"""A measurement on every core at the same time, each by a process of its own."""

import os
import queue
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from typing import Any

from arena.machine import usable_cores

# The first import of torch or of PettingZoo's classic games takes seconds.
_IMPORTS_S = 120.0


def on_each_core(measure: Callable[..., float], seconds: float, *given: Any) -> float:
    """The sum of what processes measure, one on each core that a training uses.

    measure  a function of a module, called with (seconds, *given) in each process; first with a
             second, so that all begin the measurement when they are ready
    Raises: SystemExit when a process ends without a figure, or takes too long.
    """
    context = get_context("spawn")
    cores = sorted(os.sched_getaffinity(0))[: usable_cores()]
    ready, figures = context.Barrier(len(cores)), context.Queue()
    processes = [
        context.Process(
            target=_measure, args=(core, ready, figures, measure, seconds, given), daemon=True
        )
        for core in cores
    ]
    try:
        for process in processes:
            process.start()
        return sum(answers(figures, processes, 2 * _IMPORTS_S + seconds))
    finally:
        for process in processes:
            process.kill()
            process.join()


def _measure(
    core: int,
    ready: Any,
    figures: Any,
    measure: Callable[..., float],
    seconds: float,
    given: Sequence[Any],
) -> None:
    os.sched_setaffinity(0, {core})
    measure(1.0, *given)
    ready.wait(_IMPORTS_S)
    figures.put(measure(seconds, *given))


def answers(speeds: Any, stepping: Sequence[Any], limit_s: float) -> list[float]:
    """One figure of each process.

    Raises: SystemExit when a process ends without one, or takes too long.
    """
    figures: list[float] = []
    deadline = time.monotonic() + limit_s
    while len(figures) < len(stepping):
        # Exit codes are read first, so that the figure of a process that has ended is still found.
        codes = [process.exitcode for process in stepping]
        try:
            figures.append(float(speeds.get(timeout=0.5)))
        except queue.Empty:
            if failed := [
                f"{process.name} with {code}"
                for process, code in zip(stepping, codes, strict=True)
                if code
            ]:
                raise SystemExit(
                    f"ended without a figure: {', '.join(failed)}; the reason is printed above"
                ) from None
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"{len(figures)} figures of {len(stepping)} processes within "
                    f"{limit_s:g} s; is the machine busy?"
                ) from None
    return figures
