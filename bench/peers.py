"""Side by side with Sample Factory 2 on one Doom scenario: same engine files, frame-skip, resolution, network, batch, rollout and epochs.

    python -m venv sf && sf/bin/pip install torch==2.13.0 "sample-factory[vizdoom]"
    python -m bench.peers --sample-factory sf/bin/python --rounds 5 --seconds 60 --json peers.json

Every round runs each system in turn, as its own command line starts it, so a slow moment of the machine hits all alike. Counted are the frames that
learners consumed between `warmup` seconds after the first update and `seconds` later. Sample Factory plays its asynchronous mode with the best of
its settings: the first round's time is spent on each of them once (`--peer-settings`, workers x environments per worker), the fastest is kept.

Reported, as medians over the rounds with least and greatest: frames and steps per second, CPU seconds of all processes per 1 000 steps, policy lag in
versions of the weights, dropped rows, memory (what processes share counted once), and the ratio to Sample Factory within the same round.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from bench.placements import frames, spread, status_after, updates
from bench.throughput import hardware
from tests.e2e.faults import processes
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run

MB = 1e6
PEER = "sample_factory"
LOG = "log.txt"
SETTINGS = ("2x16", "2x32", "4x16")
_REPORT = re.compile(
    r"Fps is \(.*?\)\. Total num frames: (?P<frames>\d+)\..*lag: \(min: (?P<min>[-\d.]+), avg: (?P<mean>[-\d.]+), max: (?P<max>[-\d.]+)\)"
)


class Usage:
    """CPU seconds and memory of all processes that carry a run's mark."""

    def __init__(self, mark: str, main: int) -> None:
        self._mark, self._main = mark, main
        self._before = self._seconds()

    def _seconds(self) -> dict[int, float]:
        return {pid: taken for pid in processes.of_run(self._mark, self._main) if (taken := cpu_seconds(pid)) is not None}

    def since(self) -> float:
        """CPU seconds since this was made, of processes that still live."""
        return sum(taken - self._before.get(pid, 0.0) for pid, taken in self._seconds().items())

    def pss_mb(self) -> float:
        return sum(processes.pss_bytes(pid) for pid in processes.of_run(self._mark, self._main)) / MB


def cpu_seconds(pid: int) -> float | None:
    """None when it is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return None
    return times.user + times.system


def measured(frames_done: int, seconds: float, cpu_s: float, skip: int, **more: float) -> dict[str, float]:
    steps = frames_done / skip
    return {"frames_per_s": frames_done / seconds, "steps_per_s": steps / seconds, "cpu_s_per_1000_steps": 1000 * cpu_s / max(steps, 1.0), **more}


# --- the systems -----------------------------------------------------------------------------------------------------------------------------


def ours(folder: Path, placement: str, options: argparse.Namespace) -> dict[str, float]:
    """`arena train` of the scenario's shipped configuration, on the peer's own scenario files."""
    text = Path(f"configs/doom_{options.scenario}.toml").read_text(encoding="utf-8")
    run = Run(folder, text)
    settings = [*scenario_settings(options), *options.settings]
    try:
        run.start("stop_at_frames=1_000_000_000", f"runtime.placement={placement}", *settings)
        start_growing(run)
        first = status_after(run, time.time() + options.warmup)
        usage = Usage(run.mark, run.pid)
        last = status_after(run, first.written_at + options.seconds)
        seconds, done = last.written_at - first.written_at, frames(last) - frames(first)
        lags = updates(run, first.written_at, last.written_at)
        dropped = sum(last.rows.dropped.values()) - sum(first.rows.dropped.values())
        return measured(done, seconds, usage.since(), options.frame_skip, pss_mb=usage.pss_mb(), dropped_rows=dropped, **lags)
    finally:
        run.close()
        run.remove()


def scenario_settings(options: argparse.Namespace) -> list[str]:
    """Our configuration on the peer's own scenario file, with its actions and its shaping."""
    scenario = peer_folder(options.sample_factory) / "scenarios" / f"{options.scenario}.cfg"
    settings = [f'env.options.scenario="{scenario}"', 'env.options.actions="single"']
    if options.scenario == "health_gathering_supreme":
        # Its returns are small numbers, which it does not scale, and a medikit counts 1, however much of its 25 points is health.
        settings += ["learning.reward_scale=1.0", 'env.options.terms={ health = { variable = "HEALTH", gain = 0.04 } }']
    return settings


def peer_folder(python: Path) -> Path:
    """Of Sample Factory's Doom examples."""
    code = "import os, sf_examples.vizdoom.doom as doom; print(os.path.dirname(doom.__file__))"
    return Path(subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def peer_command(folder: Path, setting: str, options: argparse.Namespace) -> list[str]:
    """How it is started, but for when it ends. setting: "2x16" = 2 workers with 16 environments each."""
    workers, environments = setting.split("x")
    return [
        str(options.sample_factory), "-m", "sf_examples.vizdoom.train_vizdoom", f"--env=doom_{options.scenario}", "--algo=APPO", "--device=cpu",
        f"--num_workers={workers}", f"--num_envs_per_worker={environments}", f"--env_frameskip={options.frame_skip}", "--wide_aspect_ratio=False",
        "--use_rnn=True", "--rnn_type=gru", "--rnn_size=512", "--rollout=32", "--batch_size=2048", "--num_batches_per_epoch=1", "--num_epochs=1",
        "--with_wandb=False", f"--train_dir={folder}", "--experiment=run",
    ]  # fmt: skip


def start_peer(folder: Path, command: Sequence[str]) -> tuple[subprocess.Popen[bytes], str]:
    """The process and the mark in the environment of everything that it starts; what it prints goes to LOG in the folder."""
    mark = uuid.uuid4().hex
    environment = {**os.environ, processes.MARK: mark}
    with (folder / LOG).open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    return process, mark


def peer(folder: Path, setting: str, options: argparse.Namespace) -> dict[str, float]:
    """Sample Factory, asynchronous."""
    folder.mkdir(parents=True)
    process, mark = start_peer(folder, [*peer_command(folder, setting, options), "--train_for_seconds=100000"])
    log = folder / LOG
    try:
        wait_for(lambda: any(int(report["frames"]) > 0 for report in reports(log)), 180.0, f"no update of Sample Factory; see {log}")
        time.sleep(options.warmup)
        usage, begin, began_s = Usage(mark, process.pid), next_report(log), time.monotonic()
        time.sleep(options.seconds)
        end = next_report(log)
        seconds, done = time.monotonic() - began_s, int(end["frames"]) - int(begin["frames"])
        lag = {"lag_mean": float(end["mean"]), "lag_max": float(end["max"])}
        return measured(done, seconds, usage.since(), options.frame_skip, pss_mb=usage.pss_mb(), dropped_rows=float("nan"), **lag)
    finally:
        end_all(mark, process)


def reports(log: Path) -> list[re.Match[str]]:
    return list(_REPORT.finditer(log.read_text(encoding="utf-8", errors="replace")))


def next_report(log: Path) -> re.Match[str]:
    """The first that is written from now on: they come every five seconds."""
    before = len(reports(log))
    wait_for(lambda: len(reports(log)) > before, 60.0, f"no report of Sample Factory for a minute; see {log}")
    return reports(log)[before]


def wait_for(condition: Callable[[], bool], limit_s: float, problem: str) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(problem)
        time.sleep(0.05)


def end_all(mark: str, process: subprocess.Popen[bytes]) -> None:
    """Its engines outlive it, and one that is left over falsifies every later figure."""
    process.kill()
    process.wait()
    while left := processes.marked(mark):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)


# --- rounds ----------------------------------------------------------------------------------------------------------------------------------


def summary(rounds: Sequence[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """System -> medians over the rounds; ratios are taken within a round."""
    found: dict[str, Any] = {}
    for system in rounds[0]:
        mine = [each[system] for each in rounds]
        found[system] = {name: spread([each[name] for each in mine]) for name in mine[0]}
        found[system]["ratio"] = spread([each[system]["frames_per_s"] / each[PEER]["frames_per_s"] for each in rounds])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample-factory", type=Path, required=True, metavar="PYTHON", help="of the environment that has it")
    parser.add_argument("--scenario", default="health_gathering_supreme")
    parser.add_argument("--placements", nargs="*", default=["inline", "central"])
    parser.add_argument("--peer-settings", nargs="+", default=SETTINGS)
    parser.add_argument("--frame-skip", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warmup", type=float, default=15.0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="of our configuration")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    # Not resolved: a virtual environment's python is a link.
    options.sample_factory = options.sample_factory.absolute()
    rounds: list[dict[str, dict[str, float]]] = []
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as folder:
        tried: dict[str, float] = {}
        for setting in options.peer_settings if len(options.peer_settings) > 1 else ():
            tried[setting] = peer(Path(folder) / f"try-{setting}", setting, options)["frames_per_s"]
            print(f"{PEER} {setting}: {tried[setting]:,.0f} frames/s", file=sys.stderr, flush=True)
        setting = max(tried, key=lambda each: tried[each]) if tried else options.peer_settings[0]
        for number in range(1, options.rounds + 1):
            rounds.append({placement: ours(Path(folder) / f"{number}-{placement}", placement, options) for placement in options.placements})
            rounds[-1][PEER] = peer(Path(folder) / f"{number}-{PEER}", setting, options)
            words = [f"{system} {found['frames_per_s']:,.0f}" for system, found in rounds[-1].items()]
            print(f"round {number}: frames/s {'  '.join(words)}", file=sys.stderr, flush=True)
    settings = {name: str(value) for name, value in vars(options).items() if name != "json"}
    report = {"hardware": hardware(), "settings": settings, "peer_setting": setting, "tried": tried, "systems": summary(rounds), "rounds": rounds}
    print(json.dumps({name: part for name, part in report.items() if name != "rounds"}, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
