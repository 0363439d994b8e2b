"""Measures a bare torch reference: frames a second if only engine and network took time.

    python -m bench.roofline --scenario health_gathering_supreme --seconds 5 --json roofline.json

It imports nothing of pbt. One process per usable core (affinity and cgroup quota), pinned to it,
runs at the same time as the others; each measures, --rounds times:
  simulate  raw ViZDoom: make_action with random actions, get_state; no resize, no copy; one engine
            alone, then 32 and 64 of them in turn
  infer     the network's forward pass in plain torch, sampling an action for every row
  train     its forward and backward pass and loss over [T, B] rows, one epoch, and one Adam step
            per batch
Engines are started as by default and "calm": under SCHED_BATCH and with huge pages. The network
runs in float32 and bfloat16, with several numbers of rows, and with the first convolution as it is
written and in "blocks" (in_blocks). The fastest of each counts. Then, with times in seconds per
step on one core,

    reference = frame_skip * cores / (simulate + infer + train)        frames per second

where as many rows are inferred at once as engines were stepped: a process that acts for 32 rows has
32 engines, and each of them finds little of its memory in the caches when its turn comes.
`hot_reference` is the same with a single engine, which is always in the cache. No training can have
both that and batches; the figure shows the cost of the caches.

The reference is no upper bound: it uses plain modules, torch's own ELU and autograd, and other
kernels may be faster. It leaves out the copying of observations, bookkeeping, the reduction of
gradients and the publishing of weights, which cost time on top.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import roofline_parts
from bench.roofline_parts import ENGINES, INFER_ROWS, PARTS

CGROUP = Path("/sys/fs/cgroup")
# Added to the time of one measurement: importing, starting its engines, the first calls.
GRACE_S = 60.0


def usable_cores() -> list[int]:
    """The cores to measure on: as many of the allowed ones as the cgroup's quota grants, at least
    one.
    """
    allowed, quota = sorted(os.sched_getaffinity(0)), cpu_quota()
    return allowed if quota is None else allowed[: max(1, int(quota))]


def cpu_quota() -> float | None:
    """Number of cores that the cgroup (v2, else v1) grants; None where it sets no limit."""
    words = read(CGROUP / "cpu.max").split() or [
        read(CGROUP / "cpu/cpu.cfs_quota_us"),
        read(CGROUP / "cpu/cpu.cfs_period_us"),
    ]
    limited = len(words) == 2 and all(word.isdigit() and int(word) > 0 for word in words)
    return int(words[0]) / int(words[1]) if limited else None


def read(path: Path) -> str:
    """The text of a file; empty where it cannot be read."""
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


# --- all cores at the same time -------------------------------------------------------------------


def answers_of(cores: Sequence[int], options: argparse.Namespace) -> list[dict[str, list[float]]]:
    """The measurements of every core's process.

    No process, engine or folder is left afterwards, also after an error.
    Raises: SystemExit when a process fails.
    """
    words = [
        f"--scenario={options.scenario}",
        f"--frame-skip={options.frame_skip}",
        f"--seconds={options.seconds}",
        f"--rounds={options.rounds}",
    ]
    command = [
        sys.executable,
        "-P",
        str(Path(roofline_parts.__file__).resolve()),
        *words,
        f"--cores={len(cores)}",
    ]
    limit_s = options.rounds * PARTS * (options.seconds + GRACE_S)
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="roofline-", ignore_cleanup_errors=True) as folder:
        try:
            for core in cores:
                # In a loop, so that earlier ones are known when one does not start.
                running.append(start(core, command, Path(folder)))  # noqa: PERF401
            wait_for_all(running, cores, limit_s)
            return [json.loads(process.communicate(timeout=limit_s)[0]) for process in running]
        except BaseException:
            for process in running:
                end(process)
            raise


def start(core: int, command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start the process of a core.

    It has a folder of its own, where its engine writes a file, and a process group of its own, with
    which its engine is killed.
    """
    (place := folder / str(core)).mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, f"--core={core}"],
        stdout=subprocess.PIPE,
        env=environment,
        cwd=place,
        start_new_session=True,
    )


def wait_for_all(
    running: Sequence[subprocess.Popen[bytes]], cores: Sequence[int], limit_s: float
) -> None:
    """Wait until all have ended. Their answers are short, so no pipe fills up meanwhile."""
    deadline = time.monotonic() + limit_s
    while None in (codes := [process.poll() for process in running]):
        if time.monotonic() > deadline:
            late = [str(core) for core, code in zip(cores, codes, strict=True) if code is None]
            raise SystemExit(
                f"no answer of the measurement on core {', '.join(late)} within {limit_s:g} s; "
                "is the machine busy?"
            )
        refuse_failed(codes, cores)
        time.sleep(0.2)
    refuse_failed(codes, cores)


def refuse_failed(codes: Sequence[int | None], cores: Sequence[int]) -> None:
    """Raises: SystemExit when a process has failed."""
    for core, code in zip(cores, codes, strict=True):
        if code:
            raise SystemExit(
                f"the measurement on core {core} ended with {code}; its output stands above"
            )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with its engine."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def least(times: dict[str, float], begin: str, end: str = "") -> str:
    """Name of the fastest measurement whose name begins and ends so."""
    return min(
        (name for name in times if name.startswith(begin) and name.endswith(end)),
        key=times.__getitem__,
    )


def chosen(times: dict[str, float]) -> tuple[tuple[str, str], tuple[str, str], str]:
    """Names of the fastest measurements.

    Three: (simulate, infer) with as many engines as rows, (simulate, infer) with one engine, train.
    """
    simulate = {engines: least(times, "simulate", f" {engines} engines") for engines in ENGINES}
    infer = {rows: least(times, "infer", f" {rows} rows") for rows in INFER_ROWS}
    acting = min(
        ((simulate[rows], infer[rows]) for rows in INFER_ROWS),
        key=lambda pair: times[pair[0]] + times[pair[1]],
    )
    return acting, (simulate[1], min(infer.values(), key=times.__getitem__)), least(times, "train")


def report(options: argparse.Namespace) -> dict[str, Any]:
    """Measure on all cores, and compute the reference."""
    cores = usable_cores()
    answers = answers_of(cores, options)
    times = {
        name: statistics.median(value for answer in answers for value in answer[name])
        for name in answers[0]
    }
    acting, hot, train = chosen(times)
    frames = options.frame_skip * len(cores)
    return {
        "scenario": options.scenario,
        "cores": len(cores),
        "microseconds_per_step": {name: round(seconds * 1e6, 1) for name, seconds in times.items()},
        "best": [*acting, train],
        "hot_best": [*hot, train],
        "pure_simulation_frames_per_s": round(frames / times[acting[0]]),
        "reference_frames_per_s": round(
            frames / (times[acting[0]] + times[acting[1]] + times[train])
        ),
        "hot_reference_frames_per_s": round(
            frames / (times[hot[0]] + times[hot[1]] + times[train])
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--scenario",
        default="health_gathering_supreme",
        help="one of ViZDoom's by its name, or the path of a .cfg file",
    )
    parser.add_argument("--frame-skip", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=4.0, help="of every measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    if options.scenario.endswith(".cfg"):
        # The processes run elsewhere.
        options.scenario = str(Path(options.scenario).expanduser().resolve())
        if not Path(options.scenario).is_file():
            raise SystemExit(f"--scenario: there is no file {options.scenario}")
    figures = report(options)
    for name, microseconds in figures["microseconds_per_step"].items():
        mark = (
            "   <-- best"
            if name in figures["best"]
            else "   <-- best, always hot"
            if name in figures["hot_best"]
            else ""
        )
        print(f"{name:<32}{microseconds:>9.1f} us per step and core{mark}")
    print(
        f"{'pure simulation':<32}{figures['pure_simulation_frames_per_s']:>9} frames/s on "
        f"{figures['cores']} cores"
    )
    print(f"{'bare torch reference':<32}{figures['reference_frames_per_s']:>9} frames/s")
    print(f"{'with one engine, always hot':<32}{figures['hot_reference_frames_per_s']:>9} frames/s")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
