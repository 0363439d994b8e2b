"""Checks of `arena doctor` on this machine: Python, PyTorch, kernels, cores, memory, processes."""

import importlib
import importlib.metadata
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import psutil

from arena import machine
from arena.words import number_of

GIB = 1 << 30
LOW_MEMORY_BYTES = 2 * GIB
COMPILE = "install a C compiler (apt-get install gcc) and then pbt-arena again"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    check  what was checked
    state  "ok", "note" (it works, but deserves attention) or "broken" (it does not work)
    text   what was found, and what to do about it unless the state is "ok"
    """

    check: str
    state: Literal["ok", "note", "broken"]
    text: str


def check_python(data: Path) -> Iterator[Finding]:
    where = "a virtual environment" if sys.prefix != sys.base_prefix else "no virtual environment"
    yield Finding("Python", "ok", f"{platform.python_version()} in {where} ({sys.prefix})")


def check_torch(data: Path) -> Iterator[Finding]:
    """PyTorch, its threads, and the GPU: it decides which placement is the default."""
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
    yield from _gpus()


def _gpus() -> Iterator[Finding]:
    """Every GPU that PyTorch can use; else why there is none."""
    import torch

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
    """The queues between workers and servers in the placement "central"."""
    try:
        version = importlib.metadata.version("faster-fifo")
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
        yield Finding("queues", "ok", f"faster-fifo {version}")


def check_precision(data: Path) -> Iterator[Finding]:
    """The number format and the kernels that networks over images use on this CPU.

    It yields nothing where PyTorch cannot be imported: `check_torch` reports that.
    """
    try:
        import torch
    except (ImportError, OSError):
        return

    from pbt.models.precision import has_bfloat16
    from pbt.native import elu_bf16, elu_float32, pixel_blocks_bf16

    if has_bfloat16(torch.device("cpu")):
        form, kernels = "bfloat16 for images", [elu_bf16(), pixel_blocks_bf16()]
    else:
        form = "this CPU has no bfloat16 instructions: float32 for images"
        kernels = [elu_float32()]
    if None in kernels:
        slower = f"{form}; our own kernels are not compiled, so it is slower; {COMPILE}"
        yield Finding("precision", "note", slower)
    else:
        yield Finding("precision", "ok", f"{form}, with kernels of our own")


def check_rows(data: Path) -> Iterator[Finding]:
    """Whether networks answer a row alike whatever comes with it, as training in rounds needs it.

    It yields nothing where PyTorch cannot be imported: `check_torch` reports that.
    """
    try:
        import torch
    except (ImportError, OSError):
        return

    from pbt.config.load import load_config
    from pbt.envs import registry
    from pbt.errors import EngineError
    from pbt.runtime.blueprint import blueprint_of
    from pbt.runtime.build import check_rows as check
    from pbt.runtime.placements import resolve

    threads = torch.get_num_threads()
    try:
        for name in ("demo", "cartpole_ppo"):
            config = resolve(load_config(name), cores=1, cuda=torch.cuda.is_available())
            check(blueprint_of(config, registry.spec(config.env.name)))
    except EngineError as error:
        yield Finding("rows", "note", str(error))
    else:
        text = "networks answer one alike whatever comes with it: rounds are reproducible"
        yield Finding("rows", "ok", text)
    finally:
        torch.set_num_threads(threads)


def check_doom(data: Path) -> Iterator[Finding]:
    """The library that keeps the engines of a match in step; there are matches on Linux only."""
    from pbt.envs.doom.machine import shared_memory_problem
    from pbt.native import doom_preload

    if sys.platform != "linux":
        return
    if (problem := shared_memory_problem()) is not None:
        yield Finding("Doom", "note", problem)
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
    quota = machine.cpu_quota()
    share = f", the container grants {quota:.1f}" if quota is not None else ""
    load = psutil.getloadavg()[0]
    cores = machine.usable_cores()
    used = f"a training uses {cores}" if cores > 1 else "a training uses it"
    text = f"{cores} usable of {psutil.cpu_count() or cores}{share}; {used}; load {load:.1f}"
    busy = load > cores + 0.5
    yield Finding(
        "cores",
        "note" if busy else "ok",
        f"{text}: other work will slow training down" if busy else text,
    )


def check_memory(data: Path) -> Iterator[Finding]:
    total, free = machine.memory_bytes(), psutil.virtual_memory().available
    text = f"{total / GIB:.1f} GiB, {min(free, total) / GIB:.1f} GiB available"
    low = min(free, total) < LOW_MEMORY_BYTES
    yield Finding(
        "memory",
        "note" if low else "ok",
        f"{text}; a small population needs about 2 GiB, stop other programs" if low else text,
    )


def check_processes(data: Path) -> Iterator[Finding]:
    """Trainings that run, and child processes whose training has ended."""
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
                "child processes whose training has ended: pid "
                f"{', '.join(map(str, stray))}; end them: kill {' '.join(map(str, stray))}"
            ),
        )
    count = number_of(len(children), "process", "processes")
    with_children = f", with {count} of their own" if children else ""
    yield Finding(
        "processes",
        "ok",
        f"running now: pid {', '.join(map(str, running))}{with_children}"
        if running
        else "no other arena process",
    )


def _is_ours(words: list[str]) -> bool:
    """`.../bin/arena ...`, `python -m arena ...`, `python -m pbt.something`, or the service."""
    modules = [after for word, after in pairwise(words) if word == "-m"]
    # Other people's packages are called `api` too, but those run by another interpreter.
    packages = {"arena", "pbt", *(("api",) if words[:1] == [sys.executable] else ())}
    return any(Path(word).name in {"arena", "pbt-arena"} for word in words[:2]) or any(
        module.split(".")[0] in packages for module in modules
    )
