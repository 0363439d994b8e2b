"""Compiles pbt/native into the source tree, for wheels and for editable installs. Without a C compiler the build goes on: the program runs without.

python hatch_build.py     the same without an installation
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
FOLDER = Path("pbt/native")
# No -march: the code chooses by itself what the machine can do. No -ffast-math: NaN must stay NaN.
FLAGS = ("-std=c99", "-O3", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math")
# By source: a product and a sum may become one instruction, or must not, since torch rounds in between; names that C99 does not have.
SOURCES = {"elu": "-ffp-contract=fast", "pixels": "-ffp-contract=off", "doom_preload": "-D_GNU_SOURCE"}
LIBRARIES = tuple(FOLDER / f"{name}.so" for name in SOURCES)
_TIMEOUT_S = 120


def compiler() -> list[str] | None:
    """$CC, which may carry options, or the first of the usual names. None where there is none."""
    chosen = shlex.split(os.environ.get("CC", ""))
    candidates = [chosen] if chosen else [["cc"], ["gcc"], ["clang"]]
    return next((words for words in candidates if shutil.which(words[0])), None)


def build(root: Path = ROOT) -> str | None:
    """Compile under `root`. Returns what went wrong in one line, None if nothing did; after a failure no older library stays."""
    try:
        wrong = next((found for name in SOURCES if (found := _compile(root, name)) is not None), None)
    except (OSError, subprocess.TimeoutExpired) as error:
        wrong = str(error)
    if wrong is not None:
        with suppress(OSError):
            for library in LIBRARIES:
                (root / library).unlink(missing_ok=True)
    return wrong


def _compile(root: Path, name: str) -> str | None:
    command = compiler()
    if command is None:
        return "no C compiler found"
    # Made beside, then renamed: a process that has the old one loaded keeps it.
    made = root / FOLDER / f".{name}.{os.getpid()}.so"
    try:
        words = [*command, *FLAGS, SOURCES[name], "-o", str(made), str(root / FOLDER / f"{name}.c")]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S)
        if done.returncode != 0:
            return f"{shlex.join(command)}: {(done.stderr.strip() or f'exit status {done.returncode}').splitlines()[0]}"
        made.replace(root / FOLDER / f"{name}.so")
    finally:
        made.unlink(missing_ok=True)
    return None


class NativeKernels(BuildHookInterface[Any]):
    """Called by hatchling for the wheel, and for the wheel of an editable install, which points at the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wrong = build(Path(self.root))
        if wrong is not None:
            self.app.display_warning(f"pbt/native is not compiled ({wrong}): torch does its work, and matches of Doom wait at every tic: slower")
            return
        if version == "editable":
            return  # it is imported from where it was built
        build_data["artifacts"] += [f"/{library}" for library in LIBRARIES]
        # Bound to the machine, but to no version of Python: they are loaded with ctypes.
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


if __name__ == "__main__":
    problem = build()
    sys.exit(f"pbt/native is not compiled: {problem}" if problem else 0)
