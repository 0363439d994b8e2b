"""The trainings of a comparison: a run for each configuration and seed, each in its own process."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from arena.data.lock import holder
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.summaries import list_populations
from arena.matches.compare import Comparison, Interrupted, Say, Side, check, read_kept, write_kept
from arena.matches.game_list import Progress
from pbt.errors import ConfigError, HeldError, PbtError, StoppedError


def train_runs(comparison: Comparison, say: Say, on_progress: Progress | None = None) -> None:
    """Train the runs that are not trained yet.

    on_progress  called with the numbers of trained runs and of all
    Raises: Interrupted, StoppedError, ConfigError, HeldError, PbtError when a training fails.
    """
    kept = read_kept(comparison)
    check(comparison)
    write_kept(comparison, kept)
    runs = comparison.runs()
    for number, (side, seed) in enumerate(runs, start=1):
        if on_progress is not None:
            on_progress(number - 1, len(runs))
        _train(comparison, side, seed, f"[{number}/{len(runs)}]", say)
    if on_progress is not None:
        on_progress(len(runs), len(runs))


def _train(comparison: Comparison, side: Side, seed: int, position: str, say: Say) -> None:
    """Train one run to its end, in a process of its own. position: such as "[2/6]".

    Raises: Interrupted when this process is asked to stop before its end; StoppedError when the
    training alone is; HeldError while another process trains it; ConfigError when it is refused, so
    that a new try would be refused again; PbtError when it fails.
    """
    name, contestant = comparison.population(side, seed), comparison.contestants[side]
    if _state(comparison.data, name) == "finished":
        say(f"{position} {name} is trained")
        return
    paths = population_paths(comparison.data, name)
    if (pid := holder(paths.lock)) is not None:
        raise HeldError(
            f"{name} is being trained by process {pid}; wait for it, or stop it with `arena "
            f"stop {name}`, then give the same command again"
        )
    resumed = paths.config.exists()
    say(
        f"{position} {'going on with' if resumed else 'training'} {name}: {contestant.source}, "
        f"seed {seed}"
    )
    fresh = (*contestant.arguments, "--set", f"seed={seed}", "--name", name)
    status, forwarded = _run_leashed(
        ["train", *(("--resume", name) if resumed else fresh), "--data", str(comparison.data)]
    )
    if _state(comparison.data, name) != "finished":
        if status in (0, 130) and not forwarded:
            raise StoppedError(
                f"{name} was stopped while it trained, by a person or another program; everything "
                "is kept, and the comparison goes on with the same command, or the same request"
            )
        if status in (0, 130):
            raise Interrupted
        if status == ConfigError.exit_code:
            raise ConfigError(name, ["its training was refused, for the reason printed above"])
        raise PbtError(
            f"the training of {name} ended with exit code {status}; see {paths.logs}; the "
            "same command goes on from its checkpoint"
        )


def _state(data: Path, name: str) -> str | None:
    """The state of a population; None when the league does not know it."""
    if not league_path(data).exists():
        return None
    with open_league(league_path(data)) as league:
        return next(
            (summary.state for summary in list_populations(league) if summary.name == name), None
        )


def _run_leashed(arguments: Sequence[str]) -> tuple[int, bool]:
    """Run `arena` in a process group of its own. Returns its exit code, and whether this process
    passed a signal on to it.

    A signal to this process is forwarded, so that the training saves. The end of this process ends
    it as well.
    """
    command = [sys.executable, "-P", "-m", "arena.programs.cli", "--leave-nothing", *arguments]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0) as child,
        _forwarding(child) as forwarded,
    ):
        return child.wait(), bool(forwarded)


@contextmanager
def _forwarding(child: subprocess.Popen[bytes]) -> Iterator[Sequence[int]]:
    """Inside, SIGINT and SIGTERM are passed on to the child. Yields those that were."""
    forwarded: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        forwarded.append(number)
        child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield forwarded
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
