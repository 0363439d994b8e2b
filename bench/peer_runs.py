"""One measured run of our training or of Sample Factory 2, for programs that compare the two."""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from bench.placements import lag_figures, resolution, status_after, updates
from bench.placements import speed as speed_of
from bench.sample_factory import (
    LOG,
    Figures,
    end_all,
    lags,
    reports,
    start_peer,
    updates_until,
    wait_for,
)
from tests.e2e.faults import processes
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run

MB = 1e6
# Sample Factory starts its matches one after the other, a second or two each.
START_S = 600.0


class Usage:
    """CPU time and memory of all processes of a run, from now on.

    mark  in the environment of the run's processes
    main  pid of its main process
    """

    def __init__(self, mark: str, main: int) -> None:
        self._mark, self._main = mark, main
        self._before, self._began_s = self._seconds(), time.monotonic()

    def _seconds(self) -> dict[int, float]:
        return {
            pid: taken
            for pid in processes.of_run(self._mark, self._main)
            if (taken := cpu_seconds(pid)) is not None
        }

    def rate(self) -> float:
        """CPU seconds per second since this was made, of the processes that still live."""
        now_s = time.monotonic()
        return sum(taken - self._before.get(pid, 0.0) for pid, taken in self._seconds().items()) / (
            now_s - self._began_s
        )

    def pss_mb(self) -> float:
        """Memory of all processes in MB; shared memory counts once."""
        return (
            sum(processes.pss_bytes(pid) for pid in processes.of_run(self._mark, self._main)) / MB
        )


def cpu_seconds(pid: int) -> float | None:
    """CPU seconds of a process; None when it is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return None
    return times.user + times.system


def measured(
    points: Sequence[dict[str, Any]], cpu_rate: float, skip: int, **more: float | None
) -> Figures:
    """The figures of a run.

    points    updates of the measured time
    cpu_rate  CPU seconds per second of it
    skip      frames of a step
    more      further figures
    Raises: SystemExit when there are too few updates.
    """
    frames_per_s = speed_of(points)
    steps_per_s = frames_per_s / skip
    return {
        "frames_per_s": frames_per_s,
        "steps_per_s": steps_per_s,
        "cpu_s_per_1000_steps": 1000 * cpu_rate / steps_per_s,
        **resolution(points),
        **more,
    }


def trained(
    folder: Path,
    config: Path,
    placement: str,
    settings: Sequence[str],
    skip: int,
    options: argparse.Namespace,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Figures:
    """One run of `arena train`. Returns its figures.

    skip       frames of a step
    options    `warmup` and `seconds` of the measurement
    variables  of the environment, in addition to this process's
    """
    run = Run(folder, config.read_text(encoding="utf-8"), **variables)
    try:
        run.start("stop_at_frames=1_000_000_000", f"runtime.placement={placement}", *settings)
        start_growing(run)
        first = status_after(run, time.time() + options.warmup)
        usage = Usage(run.mark, run.pid)
        last = status_after(run, first.written_at + options.seconds)
        cpu_rate, points = usage.rate(), updates(run, first.written_at, last.written_at)
        dropped = sum(last.rows.dropped.values()) - sum(first.rows.dropped.values())
        return measured(
            points,
            cpu_rate,
            skip,
            pss_mb=usage.pss_mb(),
            dropped_rows=dropped,
            **lag_figures(points),
        )
    finally:
        run.close()
        run.remove()


def peer_trained(
    folder: Path, command: Sequence[str], skip: int, options: argparse.Namespace
) -> Figures:
    """One run of Sample Factory by its command. skip, options: as for `trained`."""
    folder.mkdir(parents=True)
    process, mark = start_peer(
        folder, [*command, "--train_for_seconds=100000", "--flush_summaries_interval=1"]
    )
    log = folder / LOG
    try:
        wait_for(
            lambda: any(int(report["frames"]) > 0 for report in reports(log)), START_S, process, log
        )
        time.sleep(options.warmup)
        began_at, usage, seen = time.time(), Usage(mark, process.pid), len(reports(log))
        time.sleep(options.seconds)
        cpu_rate, pss_mb = usage.rate(), usage.pss_mb()
        points = updates_until(folder, began_at, began_at + options.seconds, process)
        return measured(
            points, cpu_rate, skip, pss_mb=pss_mb, dropped_rows=None, **lags(reports(log)[seen:])
        )
    finally:
        end_all(mark, process)


def speed(figures: Figures) -> float:
    """Frames per second; 0 where they are unknown."""
    return figures["frames_per_s"] or 0.0


def in_turn(systems: Sequence[str], number: int) -> list[str]:
    """The systems in the order of a round: forwards in odd rounds, backwards in even ones."""
    return list(systems) if number % 2 else list(reversed(systems))
