"""A bare torch reference: frames a second of this machine if engine and network alone took time,
both used the plain way.

    python -m bench.roofline --scenario health_gathering_supreme --seconds 5 --rounds 3 --json
    roofline.json

Imports nothing of pbt. One process per usable core (affinity and cgroup quota), pinned to it, all
at the same time; each measures, `rounds` times:
  simulate  raw ViZDoom: make_action with random actions, get_state; no resize, no copy; one engine
            alone, then 32 and 64 of them in turn
  infer     the network's forward pass in plain torch, sampling an action for every row
  train     its forward and backward pass and loss over [T, B] rows, one epoch, and one Adam step
            per batch
The first as engines start by default and "calm": under SCHED_BATCH and with huge pages. The last
two in float32 and bfloat16, with several
numbers of rows, and with the first convolution as it is written and in "blocks" (in_blocks). The
fastest of each counts. Then

    reference = frame_skip * cores / (simulate + infer + train)        frames per second, times in
    seconds per step on one core

where so many rows are inferred at once as engines were stepped: who acts for 32 rows has 32
engines, and each finds little of itself in the caches when its turn comes. `hot_reference` is the
same with the one engine that is always in the cache: no training can have that and the batches, it
is there to show what the caches cost.

No bound: it is plain modules, torch's own ELU and autograd, and kernels of one's own may beat a
part of it. What it leaves out (copying observations, bookkeeping, reducing gradients, publishing
weights) costs time on top.
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
# Of one measurement, on top of its own time: importing, starting its engines, the first calls.
GRACE_S = 60.0


def usable_cores() -> list[int]:
    """Those to measure on: as many of the allowed ones as the cgroup's quota is worth, at least
    one.
    """
    allowed, quota = sorted(os.sched_getaffinity(0)), cpu_quota()
    return allowed if quota is None else allowed[: max(1, int(quota))]


def cpu_quota() -> float | None:
    """Cores that the cgroup (v2, else v1) grants, None where it sets no limit."""
    words = read(CGROUP / "cpu.max").split() or [
        read(CGROUP / "cpu/cpu.cfs_quota_us"),
        read(CGROUP / "cpu/cpu.cfs_period_us"),
    ]
    limited = len(words) == 2 and all(word.isdigit() and int(word) > 0 for word in words)
    return int(words[0]) / int(words[1]) if limited else None


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


# --- all cores at the same time -------------------------------------------------------------------


def answers_of(cores: Sequence[int], options: argparse.Namespace) -> list[dict[str, list[float]]]:
    """What every core's process measured. Whatever happens, none is left, nor an engine, nor a
    folder. Raises: SystemExit when one fails.
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
                # when one does not start, those before it are known
                running.append(start(core, command, Path(folder)))  # noqa: PERF401
            wait_for_all(running, cores, limit_s)
            return [json.loads(process.communicate(timeout=limit_s)[0]) for process in running]
        except BaseException:
            for process in running:
                end(process)
            raise


def start(core: int, command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """In a folder of its own, where its engine writes a file, and in a group of its own, which
    its engine is killed with.
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
    """Their answers are short: no pipe fills up meanwhile."""
    deadline = time.monotonic() + limit_s
    while None in (codes := [process.poll() for process in running]):
        if time.monotonic() > deadline:
            late = [str(core) for core, code in zip(cores, codes, strict=True) if code is None]
            raise SystemExit(
                f"no answer of the measurement on core {', '.join(late)} within {limit_s:g} s"
            )
        refuse_failed(codes, cores)
        time.sleep(0.2)
    refuse_failed(codes, cores)


def refuse_failed(codes: Sequence[int | None], cores: Sequence[int]) -> None:
    for core, code in zip(cores, codes, strict=True):
        if code:
            raise SystemExit(
                f"the measurement on core {core} ended with {code}; what it said stands above"
            )


def end(process: subprocess.Popen[bytes]) -> None:
    """With its engine."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def least(times: dict[str, float], begin: str, end: str = "") -> str:
    """Which of those so named takes the least time."""
    return min(
        (name for name in times if name.startswith(begin) and name.endswith(end)),
        key=times.__getitem__,
    )


def chosen(times: dict[str, float]) -> tuple[tuple[str, str], tuple[str, str], str]:
    """Names of the fastest (simulate, infer) with as many engines as rows, of the fastest with
    one engine, and of the fastest train.
    """
    simulate = {engines: least(times, "simulate", f" {engines} engines") for engines in ENGINES}
    infer = {rows: least(times, "infer", f" {rows} rows") for rows in INFER_ROWS}
    acting = min(
        ((simulate[rows], infer[rows]) for rows in INFER_ROWS),
        key=lambda pair: times[pair[0]] + times[pair[1]],
    )
    return acting, (simulate[1], min(infer.values(), key=times.__getitem__)), least(times, "train")


def report(options: argparse.Namespace) -> dict[str, Any]:
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
            raise SystemExit(f"--scenario: no file {options.scenario}")
    found = report(options)
    for name, microseconds in found["microseconds_per_step"].items():
        mark = (
            "   <-- best"
            if name in found["best"]
            else "   <-- best, always hot"
            if name in found["hot_best"]
            else ""
        )
        print(f"{name:<32}{microseconds:>9.1f} us per step and core{mark}")
    print(
        f"{'pure simulation':<32}{found['pure_simulation_frames_per_s']:>9} frames/s on "
        f"{found['cores']} cores"
    )
    print(f"{'bare torch reference':<32}{found['reference_frames_per_s']:>9} frames/s")
    print(f"{'with one engine, always hot':<32}{found['hot_reference_frames_per_s']:>9} frames/s")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
