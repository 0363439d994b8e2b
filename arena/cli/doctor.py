"""`arena doctor`: checks whether this machine is fit for training; it changes nothing.

Each check is a function of the data directory that yields findings. Here stand the command and the
checks on the data directory: disk, right to write, SQLite, the league.
"""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import typer

from arena import machine
from arena.cli.machine_checks import (
    GIB,
    Finding,
    check_cores,
    check_doom,
    check_memory,
    check_precision,
    check_processes,
    check_python,
    check_queues,
    check_rows,
    check_torch,
)
from arena.cli.output import DataOption, JsonOption, print_json
from arena.data.lock import NoLocksError, check_locks
from arena.data.paths import data_dir, league_path
from pbt.errors import PbtError, reason

LOW_DISK_BYTES = 2 * GIB
OLDEST_SQLITE = (3, 35)  # the first version with RETURNING
NETWORK_FILE_SYSTEMS = (
    "nfs",
    "cifs",
    "smb",
    "sshfs",
    "fuse.sshfs",
    "9p",
    "ceph",
    "lustre",
    "gluster",
)


def doctor(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check Python, PyTorch, cores, memory, disk, database and processes.

    Exit with 1 if something is broken.
    """
    findings = [finding for check in CHECKS for finding in check(data_dir(data))]
    broken = [finding for finding in findings if finding.state == "broken"]
    if as_json:
        print_json({"ok": not broken, "checks": [asdict(finding) for finding in findings]})
    else:
        signs = {"ok": "ok    ", "note": "note  ", "broken": "BROKEN"}
        for finding in findings:
            print(f"{signs[finding.state]}  {finding.check:<15} {finding.text}")
        print(
            "This machine can train."
            if not broken
            else f"{len(broken)} of {len(findings)} checks failed."
        )
    if broken:
        raise typer.Exit(1)


def check_data_folder(data: Path) -> Iterator[Finding]:
    """Free space, the right to write, and whether SQLite's WAL mode works there.

    It writes one temporary folder and removes it.
    """
    place = machine.existing_parent(data)
    if not place.is_dir():
        yield Finding(
            "data folder",
            "broken",
            f"{place} is a file; expected a folder; name another one with --data or $ARENA_DATA",
        )
        return
    free = machine.free_disk_bytes(data)
    low = free < LOW_DISK_BYTES
    yield Finding(
        "disk",
        "note" if low else "ok",
        f"{free / GIB:.1f} GiB free at {place}"
        + ("; free more, checkpoints need space" if low else ""),
    )
    kind = machine.file_system(data)
    if kind.startswith(NETWORK_FILE_SYSTEMS):
        yield Finding(
            "data folder",
            "note",
            (
                f"{data} is on a network file system ({kind}), where SQLite may lose writes; use "
                "a local disk with --data"
            ),
        )
    try:
        check_locks(place)
    except NoLocksError as error:
        yield Finding("data folder", "broken", str(error))
        return
    yield _wal_finding(data, place, kind)


def _wal_finding(data: Path, place: Path, kind: str) -> Finding:
    """Whether a database can be made in `place`. kind: of its file system."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix=".arena-doctor-", dir=place) as scratch,
            closing(sqlite3.connect(Path(scratch) / "probe.db")) as probe,
        ):
            mode = probe.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            probe.execute("CREATE TABLE probe (number INTEGER)")
    except (OSError, sqlite3.Error) as error:
        return Finding(
            "data folder",
            "broken",
            (
                f"cannot write in {place} ({reason(error)}); name another folder with --data or "
                "$ARENA_DATA, or change its permissions"
            ),
        )
    if mode != "wal":
        return Finding(
            "data folder",
            "broken",
            (
                f"{place} ({kind}) cannot hold a WAL database (mode {mode}); use a local disk "
                "with --data"
            ),
        )
    return Finding("data folder", "ok", f"{data} is writable ({kind or 'unknown file system'})")


def check_league(data: Path) -> Iterator[Finding]:
    """The database, if there is one; it is read from end to end."""
    from arena.league.database import damage, open_league

    path = league_path(data)
    if not path.exists():
        return
    try:
        with open_league(path, read_only=True) as league:
            damages = damage(league)
    except PbtError as error:
        yield Finding("league", "broken", str(error))
        return
    if damages:
        yield Finding(
            "league",
            "broken",
            (
                f"{path} is damaged ({damages[0].splitlines()[0]}); stop what writes to it and "
                "restore it from a backup"
            ),
        )
    else:
        yield Finding(
            "league", "ok", f"{path} is sound ({path.stat().st_size / (1 << 20):.1f} MiB)"
        )


def check_sqlite(data: Path) -> Iterator[Finding]:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        yield Finding(
            "SQLite",
            "broken",
            f"{sqlite3.sqlite_version}; {oldest} or newer is needed; use a newer Python build",
        )
    else:
        yield Finding("SQLite", "ok", sqlite3.sqlite_version)


CHECKS: tuple[Callable[[Path], Iterator[Finding]], ...] = (
    check_python,
    check_torch,
    check_queues,
    check_precision,
    check_rows,
    check_doom,
    check_cores,
    check_memory,
    check_data_folder,
    check_sqlite,
    check_league,
    check_processes,
)
