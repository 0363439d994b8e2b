"""`arena train`, `arena stop` and `arena demo`: starting, resuming and stopping a training."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from arena.cli.output import DataOption, JsonOption, NameArgument, SetOption, print_json, say
from arena.data.paths import data_dir, data_text, population_paths
from pbt.errors import ConfigError, PbtError, PlayerError
from pbt.processes.watched_time import WatchedTime

if TYPE_CHECKING:  # they load pydantic and torch, for which --help does not wait
    from arena.training.result import Result

STOP_TIMEOUT_S = 120.0
INTERRUPTED = 130


ConfigArgument = Annotated[
    str | None,
    typer.Argument(help="A config file (.toml) or the name of a shipped one.", show_default=False),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        help="The population's name. Default: the name of the config.", show_default=False
    ),
]
ResumeOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Go on with this population from its newest checkpoint.",
        show_default=False,
    ),
]


FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="PLAYER",
        help=(
            "Begin with the weights of a snapshot, such as demo@best or m0=demo/m2@1.2M. Without a "
            "member: all that play its role. Repeatable."
        ),
        show_default=False,
    ),
]
OptimizerOption = Annotated[
    bool,
    typer.Option(
        "--with-optimizer",
        help=(
            "With --from: take the optimiser's moments and the scale of returns as well, from a "
            "snapshot that a round of PBT copied."
        ),
    ),
]


def train(
    config: ConfigArgument = None,
    name: NameOption = None,
    resume: ResumeOption = None,
    overrides: SetOption = None,
    start_from: FromOption = None,
    with_optimizer: OptimizerOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a population until every member reached stop_at_frames.

    Ctrl-C saves and stops; Ctrl-C twice stops at once.
    """
    _check_chosen(config, name, resume)
    _check_beginning(resume, start_from or (), with_optimizer=with_optimizer)
    warm = _Warm(tuple(start_from or ()), with_optimizer)
    trained = _trained(config, name, resume, overrides or (), data_dir(data), warm, quiet=as_json)
    report(trained, as_json, data)
    trained.refuse_faults()


def _check_chosen(config: str | None, name: str | None, resume: str | None) -> None:
    """Raises: ConfigError unless there is a config or a population to resume."""
    if (config is None) == (resume is None):
        raise ConfigError(
            "arena train",
            ["give a config (arena train connect_four) or --resume NAME, one of the two"],
        )
    if resume is not None and name is not None:
        raise ConfigError(
            "arena train", [f"--name {name}: a resumed population keeps its name; leave --name out"]
        )


class _Warm(NamedTuple):
    """The options that say what weights a new population begins with."""

    players: tuple[str, ...]
    optimizer: bool


def _check_beginning(
    resume: str | None, start_from: Sequence[str], *, with_optimizer: bool
) -> None:
    """Raises: ConfigError for weights to begin with of a population that has begun, or of none."""
    option = "--from" if start_from else "--with-optimizer" if with_optimizer else ""
    if option and resume is not None:
        raise ConfigError(
            "arena train",
            [
                f"{option}: {resume} has begun, and goes on with its own weights; leave {option} "
                "out, or train a new population"
            ],
        )
    if with_optimizer and not start_from:
        raise ConfigError("arena train", ["--with-optimizer: found no --from; add whose it is"])


def _trained(
    config: str | None,
    name: str | None,
    resume: str | None,
    words: Sequence[str],
    folder: Path,
    warm: _Warm,
    *,
    quiet: bool,
) -> "Result":
    """Train or resume, with a display and the signals that stop it."""
    from arena.cli.display import Display
    from arena.python import trainings
    from arena.python.configs import load_named
    from arena.python.following import Following
    from arena.signals import SignalControl

    follow = Following(say=say, stop=SignalControl())
    if resume is not None:
        with told_when_cut_off(resume, folder), Display(resume, quiet=quiet) as display:
            follow["on_progress"] = display
            return trainings.resume(
                resume, data=folder, overrides=words, strict=False, **follow
            ).training
    loaded, chosen = load_named(config or "", name, words)
    with told_when_cut_off(chosen, folder), Display(chosen, quiet=quiet) as display:
        follow["on_progress"] = display
        return trainings.train(
            loaded,
            chosen,
            data=folder,
            start_from=warm.players,
            with_optimizer=warm.optimizer,
            strict=False,
            **follow,
        ).training


@contextmanager
def told_when_cut_off(name: str, folder: Path) -> Iterator[None]:
    """Say what is lost when Ctrl-C was pressed twice."""
    try:
        yield
    except KeyboardInterrupt:
        saved = any(population_paths(folder, name).checkpoints.glob("*"))
        lost = (
            f"what came after the last checkpoint is lost. Go on with: arena train --resume {name}"
            if saved
            else "nothing was saved"
        )
        say(f"ended at once: {lost}")
        raise


def report(result: "Result", as_json: bool, data: Path | None) -> None:
    """Print what a training did, for people or for programs. data: as the user named it."""
    from arena.cli.display import clock, short
    from arena.cli.next_steps import next_steps
    from arena.data.status import refusals
    from arena.data.telemetry import telemetry_lines

    progress = result.progress
    if as_json:
        print_json(_result_json(result))
        return
    say(
        f"{short(progress.frames)} frames in {clock(progress.elapsed_s)}, placement "
        f"{result.status.placement}"
    )
    for line in telemetry_lines(result.status):
        say(f"  {line}")
    for warning in (*refusals(progress.members), *result.failures):
        say(f"WARNING: {warning}")
    if result.assessment is not None:
        say(f"{result.name}: {result.assessment.sentence}")
    say(f"proof: arena verify {result.name} --head {result.head}")
    if result.finished:
        say(f"finished. Next: {next_steps(result.name, data)}")
    else:
        where = data_text(data)
        say(f"stopped and saved. Go on with: arena train --resume {result.name}{where}")


def _result_json(result: "Result") -> dict[str, Any]:
    """What a training did, as plain values."""
    from arena.cli.assessment_text import in_short
    from arena.data.telemetry import stage_seconds

    progress = result.progress
    names = [
        *("name", "role", "frames", "objective", "games", "copies"),
        *("updates", "refused_updates", "failed", "failure"),
    ]
    return {
        "population": result.name,
        "finished": result.finished,
        "frames": progress.frames,
        "seconds": progress.elapsed_s,
        "training_games": progress.training_games,
        "evaluation_games": progress.evaluation_games,
        "ranked_by": progress.ranked_by,
        "rating_unit": "Elo" if progress.ranked_by == "win" else "a game",
        "members": [
            {
                **{name: getattr(member, name) for name in names},
                "rating": None
                if member.rating is None
                else (member.rating.value, member.rating.low, member.rating.high),
            }
            for member in progress.members
        ],
        "placement": result.status.placement,
        "encoder": result.encoder or None,
        "stage_seconds": stage_seconds(result.status.processes),
        "rows": asdict(result.status.rows),
        "processes": [asdict(process) for process in result.status.processes],
        "defaults": result.defaults,
        "assessment": in_short(result.assessment),
        "weights_sha256": result.weights_sha256,
        "head": result.head,
    }


def stop(
    name: NameArgument,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the process that trains a population to save and stop, and wait until it has."""
    from arena.data.lock import holder

    paths = population_paths(data_dir(data), name)
    if not paths.config.exists():
        raise PlayerError(
            f"no population {name!r} in {data_dir(data)}; `arena populations` lists them"
        )
    pid = holder(paths.lock)
    if pid is None:
        say(f"population {name!r} is not being trained; nothing to stop")
    else:
        os.kill(pid, signal.SIGTERM)
        watched = WatchedTime()
        while holder(paths.lock) is not None:
            if watched.look() > STOP_TIMEOUT_S:
                held = f"process {pid} still holds {name!r} after {STOP_TIMEOUT_S:.0f} s"
                raise PbtError(f"{held}; look into {paths.logs}, or end it with `kill -9 {pid}`")
            time.sleep(0.1)
        say(f"population {name!r}: process {pid} saved and stopped")
    if as_json:
        print_json({"population": name, "stopped_pid": pid})


def demo(
    data: DataOption = None,
    overrides: SetOption = None,
    config: Annotated[str, typer.Option(help="The config to train.", hidden=True)] = "demo",
) -> None:
    """Train a small population on connect four in a few minutes, and measure its best member.

    The best member plays against random, a one-ply player and its own past.
    """
    from arena.cli.demo import run_demo
    from arena.cli.display import Display

    if not run_demo(data_dir(data), say, Display("demo"), config, tuple(overrides or ())):
        raise typer.Exit(INTERRUPTED)
