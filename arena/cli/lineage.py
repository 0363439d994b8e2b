"""`arena lineage`: the copies and mutations behind a policy, and its hyperparameter schedule."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.output import DataOption, JsonOption, print_json, print_table, say
from arena.data.paths import data_dir, league_path
from arena.league.ancestry import STILL_LEARNING, find_weights, population_config, read_histories
from arena.league.database import open_league
from arena.league.frames import frames_text
from arena.league.lineage import FirstWeights, Lineage, LineageStep, Weights, trace
from arena.league.summaries import list_members
from arena.training.schedule_config import schedule_config
from pbt.config.dump import to_toml
from pbt.errors import ConfigError
from pbt.hyperparams import Hyperparams

ID_DIGITS = 8


PlayerArgument = Annotated[
    str,
    typer.Argument(
        metavar="PLAYER",
        help="A member such as demo/m2, or a snapshot: demo/m2@1.2M, demo@best, an id.",
    ),
]
ScheduleOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help=(
            "Write a config that trains one member with the same hyperparameters at the same "
            "frames."
        ),
        show_default=False,
    ),
]


def lineage(
    player: PlayerArgument,
    export_schedule: ScheduleOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the chain of copies and mutations behind a policy.

    Frames are those for which its weights were trained, by this member or by the ones it copied.
    """
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        population, weights = find_weights(league, player)
        chain = trace(read_histories(league, population), weights)
        label = _label(population, weights)
        if export_schedule is not None:
            roles = {row.name: row.role for row in list_members(league, population)}
            _write(
                export_schedule,
                to_toml(
                    schedule_config(population_config(league, population), chain, label, roles)
                ),
            )
            say(
                f"{export_schedule}: {chain.frames} frames of {label}; train it: arena train "
                f"{export_schedule}"
            )
    if as_json:
        print_json(_report(label, weights, chain))
    elif export_schedule is None:
        _print(label, chain)


def _label(population: str, weights: Weights) -> str:
    return f"{population}/{weights.member}" + (
        "" if weights.created_at == STILL_LEARNING else f"@{frames_text(weights.frames)}"
    )


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(
            "--export-schedule",
            [f"{path}: exists already; expected a new file: name another, or remove it"],
        ) from None
    except OSError as error:
        raise ConfigError(
            "--export-schedule",
            [f"{path}: {error.strerror}; name a file in a folder that you may write to"],
        ) from error


def _report(label: str, weights: Weights, chain: Lineage) -> dict[str, Any]:
    """The chain for `--json`.

    Frames are counted along the chain; those of a donor are its own clock. created_at is null for
    a member as it is now.
    """
    return {
        "player": label,
        **asdict(weights),
        "lineage_frames": chain.frames,
        "steps": [asdict(step) for step in chain.steps],
    }


def _print(label: str, chain: Lineage) -> None:
    """Print one line per step, oldest first; a value that changed is marked."""
    names = list(Hyperparams.from_flat(chain.steps[-1].hyperparams).flat())
    rows = [
        (
            frames_text(step.frames),
            step.member,
            frames_text(step.member_frames),
            _words(step),
            *(f"{step.hyperparams[name]:.4g}{'*' * (name in step.changed)}" for name in names),
        )
        for step in chain.steps
    ]
    columns = (">frames", "member", ">its clock", "what", *(f">{name}" for name in names))
    print_table(
        columns,
        rows,
        title=f"{label}: {chain.frames} frames of training",
        spare=("its clock", *reversed(names)),
    )
    print(
        "* = changed at this step. Frames count the training of these weights, by any member; a "
        "member's own clock goes on when it copies."
    )


def _words(step: LineageStep) -> str:
    match step.kind:
        case "copy":
            assert step.donor is not None
            return f"round {step.round}: copies {_donor(step.donor)}" + (
                ", mutates" if step.changed else ""
            )
        case "join":
            return "joins" + (
                f" with the weights of {_donor(step.donor)}" if step.donor is not None else ""
            )
        case "mutate":
            return f"round {step.round}: mutates"
        case "edit":
            return "edited by a person, about here"
        case "schedule":
            return "schedule of the config"
        case _:
            return "starts" if step.began is None else f"starts with {_first(step.began)}"


def _first(weights: FirstWeights) -> str:
    return f"the weights of {weights.player} ({weights.snapshot[:ID_DIGITS]})" + (
        " and its optimiser" * weights.optimizer
    )


def _donor(weights: Weights) -> str:
    return (
        f"{weights.member}@{frames_text(weights.frames)} ({(weights.snapshot or '')[:ID_DIGITS]})"
    )
