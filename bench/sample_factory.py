"""Runs Sample Factory 2 for comparison: starts it, reads its reports, ends all its processes."""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from pbt.envs.doom.strays import remove_strays
from tests.e2e.faults import processes

LOG = "log.txt"
# A value that it writes after an update, with the frames up to then, at most every two seconds.
UPDATE_TAG = "train/loss"
# Without an update for this long something is wrong.
PATIENCE_S = 120.0
SETTINGS = ("2x16", "2x32", "4x16", "2x16-plain")
_SETTING = re.compile(r"(?P<workers>[1-9]\d*)x(?P<environments>[1-9]\d*)(?P<modes>(-[a-z]+)*)")
_MODES = {
    "plain": ("--normalize_input=False", "--normalize_returns=False"),
    "batched": ("--batched_sampling=True",),
    "sync": ("--async_rl=False",),
    "serial": ("--async_rl=False", "--serial_mode=True", "--worker_num_splits=1"),
}
_REPORT = re.compile(
    r"Fps is \(.*?\)\. Total num frames: (?P<frames>\d+)\..*lag: \(min: (?P<min>[-\d.]+), "
    r"avg: (?P<mean>[-\d.]+), max: (?P<max>[-\d.]+)\)"
)

# Names of memory that torch shares between processes: torch_PID_RANDOM_NUMBER
_SHARED = re.compile(r"torch_(?P<pid>\d+)_.*")

Figures = dict[str, float | None]
"""Name -> figure; None where a system does not report it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A Doom scenario that both systems can train.

    peer          Sample Factory's name of it
    settings      of our config
    peer_scale    the factor by which Sample Factory multiplies rewards, also in its summaries
    peer_options  further options of Sample Factory
    game          our name of the game
    file          Sample Factory's scenario file without .cfg; None where it has the scenario's name
    skip          tics of a decision
    """

    peer: str
    settings: tuple[str, ...] = ("learning.reward_scale=1.0",)
    peer_scale: float = 1.0
    peer_options: tuple[str, ...] = ()
    game: str = "doom"
    file: str | None = None
    skip: int = 4


# Scenarios of one seat, in which the network sees only the screen and makes one choice.
ALONE = {
    "health_gathering_supreme": Scenario(
        "doom_health_gathering_supreme",
        (
            "learning.reward_scale=1.0",
            'env.options.terms={ health = { variable = "HEALTH", gain = 0.04 } }',
            "learning.shaping={ health = 1.0 }",
        ),
    ),
    "basic": Scenario("doom_basic", ("learning.reward_scale=0.01",), 0.01),
    "defend_the_center": Scenario("doom_defend_the_center_flat_actions", ()),
}
# Two policies that meet each other and themselves on Sample Factory's map. They see the screen and
# measurements, and choose among 12 096 actions by seven heads; games last four minutes.
DUELS = {
    "duel": Scenario(
        "doom_duel",
        (
            "population.members=2",
            "matchmaking.past_share=0.0",
            'env.options.buttons="full"',
            "env.options.max_tics=8400",
            "env.options.respawn_delay_s=2",
        ),
        peer_options=("--num_policies=2",),
        game="doom_match",
        file="ssl2",
        skip=2,
    )
}
SCENARIOS = ALONE | DUELS


def peer_folder(python: Path) -> Path:
    """The folder of Sample Factory's Doom examples."""
    code = "import os, sf_examples.vizdoom.doom as doom; print(os.path.dirname(doom.__file__))"
    return Path(_asked(python, code).strip())


def peer_versions(python: Path, engine: str = "vizdoom") -> dict[str, str]:
    """Versions of the packages that Sample Factory runs on.

    Raises: SystemExit when its game engine has another version than ours: then the engines would be
    compared as well.
    """
    packages = ("sample-factory", engine, "torch", "numpy")
    code = (
        "import json, importlib.metadata as m; print(json.dumps({name: m.version(name) "
        f"for name in {packages}}}))"
    )
    versions: dict[str, str] = json.loads(_asked(python, code))
    our_version = metadata.version(engine)
    if versions[engine] != our_version:
        raise SystemExit(
            f"Sample Factory has {engine} {versions[engine]}, ours is {our_version}; install the "
            "same version in both environments"
        )
    return versions


def _asked(python: Path, code: str) -> str:
    """The output of a line of code in Sample Factory's environment. Raises: SystemExit."""
    answer = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit(
            f"{python}: Sample Factory, or a package that the game needs, is missing:\n"
            f"{answer.stderr.strip()}"
        )
    return answer.stdout


def peer_command(folder: Path, setting: str, options: argparse.Namespace) -> list[str]:
    """The command that starts it on a Doom scenario, without the option that ends it."""
    return [
        str(options.sample_factory),
        "-m",
        "sf_examples.vizdoom.train_vizdoom",
        f"--env={SCENARIOS[options.scenario].peer}",
        "--algo=APPO",
        "--device=cpu",
        f"--env_frameskip={options.frame_skip}",
        "--wide_aspect_ratio=False",
        "--use_rnn=True",
        "--rnn_type=gru",
        "--rnn_size=512",
        "--rollout=32",
        "--batch_size=2048",
        "--num_batches_per_epoch=1",
        "--num_epochs=1",
        "--with_wandb=False",
        f"--train_dir={folder}",
        "--experiment=run",
        *SCENARIOS[options.scenario].peer_options,
        *setting_options(setting),
    ]


def setting_options(setting: str) -> list[str]:
    """The options of a setting.

    "2x16" is 2 workers with 16 environments each, "2x16-plain" the same without normalising; other
    modes are in _MODES, and several may follow each other.
    """
    parts = _SETTING.fullmatch(setting_word(setting))
    assert parts is not None
    modes = parts["modes"].split("-")[1:]
    sizes = [f"--num_workers={parts['workers']}", f"--num_envs_per_worker={parts['environments']}"]
    return [*sizes, *(option for mode in modes for option in _MODES[mode])]


def setting_word(word: str) -> str:
    """The word itself, checked at once because some settings are only used minutes later.

    Raises: argparse.ArgumentTypeError when it is no setting.
    """
    parts = _SETTING.fullmatch(word)
    if parts is None or not set(parts["modes"].split("-")[1:]) <= _MODES.keys():
        modes = ", ".join(f"-{mode}" for mode in _MODES)
        raise argparse.ArgumentTypeError(
            f"{word!r} is no setting of Sample Factory: expected WORKERSxENVIRONMENTS and "
            f"any of {modes}, as 2x16-plain"
        )
    return word


def start_peer(folder: Path, command: Sequence[str]) -> tuple[subprocess.Popen[bytes], str]:
    """Start Sample Factory. Its output goes to LOG in the folder.

    Returns the process, and the mark in the environment of all processes that it starts.
    """
    mark = uuid.uuid4().hex
    environment = {**os.environ, processes.MARK: mark}
    with (folder / LOG).open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    return process, mark


def lags(reports_in_window: Sequence[re.Match[str]]) -> Figures:
    """Policy lag over the reports of a window.

    A report holds the lag of the newest update only, and -1 before the first.
    """
    mean_and_max = [
        (float(report["mean"]), float(report["max"]))
        for report in reports_in_window
        if float(report["mean"]) >= 0
    ]
    if not mean_and_max:
        return {"lag_mean": None, "lag_max": None}
    return {
        "lag_mean": statistics.fmean(mean for mean, _ in mean_and_max),
        "lag_max": max(most for _, most in mean_and_max),
    }


def reports(log: Path) -> list[re.Match[str]]:
    """All reports of a log."""
    return list(_REPORT.finditer(log.read_text(encoding="utf-8", errors="replace")))


def updates_of(folder: Path) -> list[dict[str, Any]]:
    """The updates in its summaries, with the keys of our curves.

    member  its policy
    t       Unix time at which the update was written
    frames  up to the update
    """
    updates = []
    for path in sorted((folder / "run" / ".summary").glob("*")):
        events = EventAccumulator(str(path), size_guidance={"scalars": 0})
        events.Reload()
        if UPDATE_TAG in events.Tags()["scalars"]:
            updates += [
                {"member": path.name, "t": event.wall_time, "frames": event.step}
                for event in events.Scalars(UPDATE_TAG)
            ]
    return updates


def updates_until(
    folder: Path, since: float, until: float, process: subprocess.Popen[bytes]
) -> list[dict[str, Any]]:
    """The updates of a time.

    Waits until every policy has written a later update, so that none of that time is missing.
    """

    def whole() -> bool:
        members = {point["member"] for point in updates_of(folder) if point["t"] > until}
        return bool(members) and members == {
            path.name for path in (folder / "run" / ".summary").glob("*")
        }

    wait_for(whole, PATIENCE_S, process, folder / LOG, every_s=0.5)
    return [point for point in updates_of(folder) if since <= point["t"] <= until]


def wait_for(
    condition: Callable[[], bool],
    limit_s: float,
    process: subprocess.Popen[bytes],
    log: Path,
    every_s: float = 0.05,
) -> None:
    """Wait for a condition, which is checked every `every_s`.

    Raises: SystemExit with the end of the log when Sample Factory ends or takes too long.
    """
    deadline = time.monotonic() + limit_s
    while not condition():
        if process.poll() is not None:
            raise SystemExit(f"Sample Factory ended with {process.returncode}:\n{last_words(log)}")
        if time.monotonic() > deadline:
            raise SystemExit(f"no report of Sample Factory for {limit_s:g} s:\n{last_words(log)}")
        time.sleep(every_s)


def last_words(log: Path) -> str:
    """The end of the log, for messages: the log itself is removed with this program."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-30:])


def end_all(mark: str, process: subprocess.Popen[bytes]) -> None:
    """Kill Sample Factory with its engines, and remove their shared memory.

    Its engines outlive it, and one that is left over would falsify every later figure.
    """
    killed = {process.pid}
    process.kill()
    process.wait()
    while left := processes.marked(mark):
        killed |= set(left)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    remove_strays(young_s=0.0)
    for path in processes.SHARED_MEMORY.glob("torch_*"):
        # Other files may have other names, or belong to another user.
        if (name := _SHARED.fullmatch(path.name)) is not None and int(name["pid"]) in killed:
            with suppress(OSError):
                path.unlink(missing_ok=True)
