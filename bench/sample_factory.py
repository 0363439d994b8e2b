"""Sample Factory 2 as a peer: how it is started, what it reports, and how it is ended with
everything that it started.
"""

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
# It writes what it learned from a batch right after it, with the frames up to then, at most every
# two seconds.
UPDATE_TAG = "train/loss"
# Without an update for so long something is wrong.
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

# What torch shares between processes: torch_PID_RANDOM_NUMBER
_SHARED = re.compile(r"torch_(?P<pid>\d+)_.*")

Figures = dict[str, float | None]
"""By name; None where a system does not say it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """peer: Sample Factory's name for it, and what else is said to it;  settings: of our
    configuration

    peer_scale  what it multiplies rewards by, in its summaries, too
    game        of ours;  file: its own scenario file, without .cfg, where that is called otherwise;
                skip: tics of a decision
    """

    peer: str
    settings: tuple[str, ...] = ("learning.reward_scale=1.0",)
    peer_scale: float = 1.0
    peer_options: tuple[str, ...] = ()
    game: str = "doom"
    file: str | None = None
    skip: int = 4


# Those in which its network sees nothing but the screen, and acts by one choice.
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
# Two policies that meet each other and themselves, on its own map: the screen, measurements, seven
# heads of 12 096 actions, games of four minutes.
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
    """Of Sample Factory's Doom examples."""
    code = "import os, sf_examples.vizdoom.doom as doom; print(os.path.dirname(doom.__file__))"
    return Path(_asked(python, code).strip())


def peer_versions(python: Path, engine: str = "vizdoom") -> dict[str, str]:
    """Of what Sample Factory runs on. Raises: SystemExit when its engine of the game is not
    ours: the engines would be compared, too.
    """
    packages = ("sample-factory", engine, "torch", "numpy")
    code = (
        "import json, importlib.metadata as m; print(json.dumps({name: m.version(name) "
        f"for name in {packages}}}))"
    )
    found: dict[str, str] = json.loads(_asked(python, code))
    mine = metadata.version(engine)
    if found[engine] != mine:
        raise SystemExit(
            f"Sample Factory has {engine} {found[engine]}, ours is {mine}: install the same "
            "version in both environments"
        )
    return found


def _asked(python: Path, code: str) -> str:
    """What it prints of a line of code."""
    answer = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit(
            f"{python} has no Sample Factory with what the game needs:\n{answer.stderr.strip()}"
        )
    return answer.stdout


def peer_command(folder: Path, setting: str, options: argparse.Namespace) -> list[str]:
    """How it is started on a Doom scenario, but for when it ends."""
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
    """setting: "2x16" = 2 workers with 16 environments each, "2x16-plain" = without normalising;
    other modes as in _MODES, as many as wanted.
    """
    parts = _SETTING.fullmatch(setting_word(setting))
    assert parts is not None
    modes = parts["modes"].split("-")[1:]
    sizes = [f"--num_workers={parts['workers']}", f"--num_envs_per_worker={parts['environments']}"]
    return [*sizes, *(option for mode in modes for option in _MODES[mode])]


def setting_word(word: str) -> str:
    """The word itself. Raises: argparse.ArgumentTypeError when it is no setting: some of them
    are played minutes later.
    """
    parts = _SETTING.fullmatch(word)
    if parts is None or not set(parts["modes"].split("-")[1:]) <= _MODES.keys():
        known = ", ".join(f"-{mode}" for mode in _MODES)
        raise argparse.ArgumentTypeError(
            f"{word!r} is no setting of Sample Factory: expected WORKERSxENVIRONMENTS and "
            f"any of {known}, as 2x16-plain"
        )
    return word


def start_peer(folder: Path, command: Sequence[str]) -> tuple[subprocess.Popen[bytes], str]:
    """The process and the mark in the environment of everything that it starts; what it prints
    goes to LOG in the folder.
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


def lags(found: Sequence[re.Match[str]]) -> Figures:
    """Over all reports of the window; a report tells of the newest update alone, and -1 before
    the first.
    """
    told = [
        (float(report["mean"]), float(report["max"]))
        for report in found
        if float(report["mean"]) >= 0
    ]
    if not told:
        return {"lag_mean": None, "lag_max": None}
    return {
        "lag_mean": statistics.fmean(mean for mean, _ in told),
        "lag_max": max(most for _, most in told),
    }


def reports(log: Path) -> list[re.Match[str]]:
    return list(_REPORT.finditer(log.read_text(encoding="utf-8", errors="replace")))


def updates_of(folder: Path) -> list[dict[str, Any]]:
    """Those that its summaries tell of, as in our curves: member (its policy), t (the moment it
    was written, Unix time), frames (up to then).
    """
    found = []
    for path in sorted((folder / "run" / ".summary").glob("*")):
        events = EventAccumulator(str(path), size_guidance={"scalars": 0})
        events.Reload()
        if UPDATE_TAG in events.Tags()["scalars"]:
            found += [
                {"member": path.name, "t": event.wall_time, "frames": event.step}
                for event in events.Scalars(UPDATE_TAG)
            ]
    return found


def updates_until(
    folder: Path, since: float, until: float, process: subprocess.Popen[bytes]
) -> list[dict[str, Any]]:
    """Those of that time, as soon as every policy has told of a later one: then none of that
    time is still to be written.
    """

    def whole() -> bool:
        told = {point["member"] for point in updates_of(folder) if point["t"] > until}
        return bool(told) and told == {
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
    """Until Sample Factory reports what is asked, looked for so often. Raises: SystemExit with
    its last words when it ends or takes too long.
    """
    deadline = time.monotonic() + limit_s
    while not condition():
        if process.poll() is not None:
            raise SystemExit(f"Sample Factory ended with {process.returncode}:\n{last_words(log)}")
        if time.monotonic() > deadline:
            raise SystemExit(f"no report of Sample Factory for {limit_s:g} s:\n{last_words(log)}")
        time.sleep(every_s)


def last_words(log: Path) -> str:
    """Its log is gone when this program has ended."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-30:])


def end_all(mark: str, process: subprocess.Popen[bytes]) -> None:
    """Its engines outlive it, and one that is left over falsifies every later figure. What all
    of them leave in shared memory goes, too.
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
        # Of others' names some are made otherwise, or belong to another user.
        if (name := _SHARED.fullmatch(path.name)) is not None and int(name["pid"]) in killed:
            with suppress(OSError):
                path.unlink(missing_ok=True)
