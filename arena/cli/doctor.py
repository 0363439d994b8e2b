"""`arena doctor`: is this machine fit for training? Each check is a function that returns
findings; nothing is changed.
"""

import importlib
import importlib.metadata
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import psutil
import typer

from arena import host
from arena.cli.output import DataOption, JsonOption, print_json
from arena.data.paths import data_dir, league_path
from pbt.errors import PbtError

GIB = 1 << 30
LOW_DISK_BYTES = 2 * GIB
LOW_MEMORY_BYTES = 2 * GIB
OLDEST_SQLITE = (3, 35)  # RETURNING
COMPILE = "install a C compiler (apt-get install gcc) and then pbt-arena again"
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


@dataclass(frozen=True)
class Finding:
    """state: "ok", "note" (works, but look), "broken" (does not work); text says what to do
    unless it is ok.
    """

    check: str
    state: Literal["ok", "note", "broken"]
    text: str


def doctor(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Look at Python, PyTorch, cores, memory, disk, database and processes; exit 1 if something
    is broken.
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


def check_python(data: Path) -> Iterator[Finding]:
    where = "a virtual environment" if sys.prefix != sys.base_prefix else "no virtual environment"
    yield Finding("Python", "ok", f"{platform.python_version()} in {where} ({sys.prefix})")


def check_torch(data: Path) -> Iterator[Finding]:
    """PyTorch, its threads, and a GPU if there is one: it decides the default placement."""
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Finding(
            "PyTorch",
            "broken",
            f"cannot be imported ({error}); install it again: make clean, then make demo",
        )
        return
    yield Finding(
        "PyTorch",
        "ok",
        (
            f"{torch.__version__}, {torch.get_num_threads()} threads, kernels "
            f"{torch.backends.cpu.get_cpu_capability()}"
        ),
    )
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            size = f"{properties.total_memory / GIB:.0f} GiB"
            yield Finding(
                "GPU",
                "ok",
                (
                    f"{properties.name}, {size}, CUDA {torch.version.cuda}; the default "
                    "placement is central"
                ),
            )
    elif Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi"):
        build = (
            "this build of PyTorch is for CPU only"
            if torch.version.cuda is None
            else f"PyTorch is built for CUDA {torch.version.cuda}, the driver is too old"
        )
        yield Finding(
            "GPU",
            "note",
            (
                f"an NVIDIA driver is here, but PyTorch cannot use it: {build}; training runs on "
                "the CPU, placement inline"
            ),
        )
    else:
        yield Finding(
            "GPU", "ok", "none; training runs on the CPU, the default placement is inline"
        )


def check_queues(data: Path) -> Iterator[Finding]:
    """What workers and servers of the placement "central" talk through."""
    try:
        found = importlib.metadata.version("faster-fifo")
        importlib.import_module("faster_fifo")
    except importlib.metadata.PackageNotFoundError:
        yield Finding(
            "queues",
            "ok",
            (
                "faster-fifo is not installed (it has no wheel for some systems); the placement "
                "central uses sockets"
            ),
        )
    except (ImportError, OSError) as error:
        yield Finding(
            "queues",
            "note",
            f"faster-fifo cannot be imported ({error}); the placement central uses sockets",
        )
    else:
        yield Finding("queues", "ok", f"faster-fifo {found}")


def check_precision(data: Path) -> Iterator[Finding]:
    """What networks over images compute in on this CPU, and with which kernels. Nothing where
    PyTorch is broken: that is said elsewhere.
    """
    try:
        import torch
    except (ImportError, OSError):
        return

    from pbt.models.precision import has_bfloat16
    from pbt.native import elu_bf16, pixel_blocks_bf16

    if not has_bfloat16(torch.device("cpu")):
        yield Finding(
            "precision",
            "ok",
            "this CPU has no bfloat16 instructions; networks over images compute in float32",
        )
    elif elu_bf16() is None or pixel_blocks_bf16() is None:
        yield Finding(
            "precision",
            "note",
            f"bfloat16 for images, without kernels of our own, so slower; {COMPILE}",
        )
    else:
        yield Finding("precision", "ok", "bfloat16 for images, with kernels of our own")


def check_doom(data: Path) -> Iterator[Finding]:
    """What keeps the players of a match in step; engines play matches on Linux only."""
    from pbt.native import doom_preload

    if sys.platform != "linux":
        return
    if doom_preload() is None:
        slower = (
            "the library that keeps engines in step is not compiled: matches wait for "
            "every engine after every tic, several times slower"
        )
        yield Finding(
            "Doom matches", "note", f"{slower}; {COMPILE}, in a checkout python hatch_build.py"
        )
    else:
        yield Finding("Doom matches", "ok", "engines keep in step by a library of our own")


def check_cores(data: Path) -> Iterator[Finding]:
    quota = host.cpu_quota()
    share = f", the container grants {quota:.1f}" if quota is not None else ""
    load = psutil.getloadavg()[0]
    cores = host.usable_cores()
    used = f"a training uses {cores}" if cores > 1 else "a training uses it"
    text = f"{cores} usable of {psutil.cpu_count() or cores}{share}; {used}; load {load:.1f}"
    busy = load > cores + 0.5
    yield Finding(
        "cores",
        "note" if busy else "ok",
        f"{text}: other work will slow training down" if busy else text,
    )


def check_memory(data: Path) -> Iterator[Finding]:
    total, free = host.memory_bytes(), psutil.virtual_memory().available
    text = f"{total / GIB:.1f} GiB, {min(free, total) / GIB:.1f} GiB available"
    low = min(free, total) < LOW_MEMORY_BYTES
    yield Finding(
        "memory",
        "note" if low else "ok",
        f"{text}; a small population needs about 2 GiB, stop other programs" if low else text,
    )


def check_data_folder(data: Path) -> Iterator[Finding]:
    """Space, the right to write, and whether SQLite's WAL works there. Writes one temporary
    folder and removes it.
    """
    place = host.existing_parent(data)
    if not place.is_dir():
        yield Finding(
            "data folder",
            "broken",
            f"{place} is a file; expected a folder; choose another with --data or $ARENA_DATA",
        )
        return
    free = host.free_disk_bytes(data)
    low = free < LOW_DISK_BYTES
    yield Finding(
        "disk",
        "note" if low else "ok",
        f"{free / GIB:.1f} GiB free at {place}"
        + ("; free some, checkpoints need space" if low else ""),
    )
    kind = host.file_system(data)
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
        with (
            tempfile.TemporaryDirectory(prefix=".arena-doctor-", dir=place) as scratch,
            closing(sqlite3.connect(Path(scratch) / "probe.db")) as probe,
        ):
            mode = probe.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            probe.execute("CREATE TABLE probe (number INTEGER)")
    except (OSError, sqlite3.Error) as error:
        yield Finding(
            "data folder",
            "broken",
            (
                f"cannot write at {place} ({error}); choose another folder with --data or "
                "$ARENA_DATA, or mend its permissions"
            ),
        )
        return
    if mode != "wal":
        yield Finding(
            "data folder",
            "broken",
            (
                f"{place} ({kind}) cannot hold a WAL database (mode {mode}); use a local disk "
                "with --data"
            ),
        )
    else:
        yield Finding("data folder", "ok", f"{data} is writable ({kind or 'unknown file system'})")


def check_league(data: Path) -> Iterator[Finding]:
    """The database, if there is one, read from end to end."""
    from arena.league.database import damage, open_league

    path = league_path(data)
    if not path.exists():
        return
    try:
        with open_league(path, read_only=True) as league:
            found = damage(league)
    except PbtError as error:
        yield Finding("league", "broken", str(error))
        return
    if found:
        yield Finding(
            "league",
            "broken",
            (
                f"{path} is damaged ({found[0].splitlines()[0]}); stop what writes to it and "
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


def check_processes(data: Path) -> Iterator[Finding]:
    """Trainings that run, and children whose training is gone."""
    mine = psutil.Process().pid
    running: list[int] = []
    children: list[int] = []
    stray: list[int] = []
    for process in psutil.process_iter(["pid", "ppid", "cmdline"]):
        words = process.info["cmdline"] or []
        if process.info["pid"] == mine or not _is_ours(words):
            continue
        child = any(word.startswith("pbt.") for word in words)
        (running if not child else stray if process.info["ppid"] == 1 else children).append(
            process.info["pid"]
        )
    if stray:
        yield Finding(
            "processes",
            "broken",
            (
                f"children without their training: pid {', '.join(map(str, stray))}; end them: "
                f"kill {' '.join(map(str, stray))}"
            ),
        )
    with_children = f", with {len(children)} processes of their own" if children else ""
    yield Finding(
        "processes",
        "ok",
        f"running now: pid {', '.join(map(str, running))}{with_children}"
        if running
        else "no other arena process",
    )


def _is_ours(words: list[str]) -> bool:
    """`.../bin/arena ...`, `python -m arena ...` or `python -m pbt.something`."""
    modules = [after for word, after in pairwise(words) if word == "-m"]
    return any(Path(word).name in {"arena", "pbt-arena"} for word in words[:2]) or any(
        module.split(".")[0] in {"arena", "pbt"} for module in modules
    )


CHECKS: tuple[Callable[[Path], Iterator[Finding]], ...] = (
    check_python,
    check_torch,
    check_queues,
    check_precision,
    check_doom,
    check_cores,
    check_memory,
    check_data_folder,
    check_sqlite,
    check_league,
    check_processes,
)
