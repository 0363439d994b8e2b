"""`arena backup` and `arena restore`: a data directory as one file, and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from arena.backup.make import Description, make_backup
from arena.backup.progress import CopyProgress
from arena.backup.restore import restore_backup
from arena.cli.going_on import GoingOn
from arena.cli.output import DataOption, JsonOption, print_json, print_table, say
from arena.data.paths import data_dir, data_text
from arena.words import bytes_text
from pbt.user_folders import expanded


def backup(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The new file, say backup.tar; it must not exist yet."),
    ],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a backup of the whole data directory into one file.

    Trainings and the service go on meanwhile. The file holds the league, and of each population
    its config, its snapshots and a checkpoint that fits the league. Tokens of the service stay
    out.
    """
    path = expanded(file).absolute()
    with _shown("backup") as progress:
        made = make_backup(data_dir(data), path, progress)
    size = path.stat().st_size
    for warning in made.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json({"backup": path, "size_bytes": size, **asdict(made)})
        return
    _print(made)
    print(f"{path}: {bytes_text(size)}; back: arena restore {file} --data FOLDER")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `arena backup`.")],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only compare the backup with its sums; write nothing."),
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a data directory from a backup. The folder (--data) must be new or empty.

    Every file is compared with its SHA-256 before anything takes its place. The new directory has
    the identity of the old one, as a copied folder has.
    """
    path, folder = expanded(file).absolute(), data_dir(data)
    with _shown("restore") as progress:
        told = restore_backup(path, folder, progress, dry_run=dry_run)
    if as_json:
        print_json({"backup": path, "data": folder, "restored": not dry_run, **asdict(told)})
        return
    _print(told)
    if dry_run:
        print(f"{path}: all files have the SHA-256 that was written down; nothing was restored")
        return
    print(f"{folder}: restored")
    for one in told.populations:
        print(f"proof: arena verify {one.name} --head {one.head}{data_text(data)}")


def _print(told: Description) -> None:
    print_table(
        ("population", "checkpoint", ">snapshots"),
        [(one.name, one.checkpoint or "-", one.snapshots) for one in told.populations],
        f"cut of {datetime.fromtimestamp(told.made_at, UTC):%Y-%m-%d %H:%M:%S} UTC",
    )


@contextmanager
def _shown(work: str) -> Iterator[CopyProgress]:
    """Say now and then on standard error how far the work has come."""
    progress = CopyProgress()

    def words() -> str:
        done, total = bytes_text(progress.done_bytes), bytes_text(progress.total_bytes)
        return f"{work}: {progress.what}, {done} of about {total}, {progress.share:.0%}"

    with GoingOn(words):
        yield progress
