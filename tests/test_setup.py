"""The installation script names what the machine lacks in one line, before it downloads
anything; the wheel holds all it needs.
"""

import re
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import hatch_build

ROOT = Path(__file__).resolve().parent.parent
TOOLS = (
    "cat",
    "cksum",
    "cut",
    "df",
    "awk",
    "id",
    "mkdir",
    "rm",
    "dirname",
    "sed",
    "du",
    "uname",
    "grep",
    "sh",
    "flock",
)
# When one of them changes, the next `make` installs again.
NATIVE = (
    "pbt/native/bf16.h",
    "pbt/native/doom_preload.c",
    "pbt/native/elu.c",
    "pbt/native/elu_float32.c",
    "pbt/native/pixels.c",
)
WEB = tuple(
    path.relative_to(ROOT).as_posix()
    for folder in ("*.*", "src/*.*", "src/*/*.*", "src/*/*/*.*")
    for path in sorted((ROOT / "web").glob(folder))
    if path.name[0] != "."
)
INSTALLED_FROM = ("pyproject.toml", "hatch_build.py", *NATIVE, *WEB, "scripts/venv.sh")


@pytest.fixture
def machine(tmp_path: Path) -> "Machine":
    return Machine(tmp_path)


class Machine:
    """A checkout on a machine that has only the programs put on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.programs = folder / "checkout", folder / "bin"
        self.programs.mkdir(parents=True)
        for path in INSTALLED_FROM:
            (self.checkout / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.checkout / path)
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.programs / tool).symlink_to(found)

    def program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def install(self, level: str = "run", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(self.checkout / "scripts/venv.sh"), level],
            env={"PATH": str(self.programs), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def refusal(self, **environment: str) -> str:
        done = self.install(**environment)
        assert done.returncode == 1 and done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert not (self.checkout / ".venv").exists()
        return line


REAL = f'exec {sys.executable} "$@"'
OLD = 'case "$*" in *version_info*) exit 1;; -V) echo "Python 3.9.2";; esac'
BARE = f'case "$*" in *ensurepip*) exit 1;; *) exec {sys.executable} "$@";; esac'


def test_python_missing(machine: Machine) -> None:
    assert re.search(
        (
            r"Python 3\.11 or newer is missing \(found: none\); install it: .*apt-get install -y "
            r"python3 python3-venv$"
        ),
        machine.refusal(),
    )


def test_python_too_old_where_the_distribution_has_no_newer_default(machine: Machine) -> None:
    machine.program("python3", OLD)
    machine.program("apt-cache", 'echo "  Candidate: 3.10.6-1"')
    line = machine.refusal()
    assert "found: Python 3.9.2" in line and line.endswith(
        "apt-get install -y python3.11 python3.11-venv"
    )


def test_an_old_default_does_not_hide_a_newer_python(machine: Machine) -> None:
    machine.program("python3", OLD)
    machine.program("python3.13", BARE)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert machine.refusal().endswith(
        f"python3.13 has no venv module; install it: {machine_apt()} python{version}-venv"
    )


def machine_apt() -> str:
    root = subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip() == "0"
    return "apt-get install -y" if root else "sudo apt-get install -y"


def test_disk_full(machine: Machine) -> None:
    machine.program("python3", REAL)
    machine.program("df", 'printf "head\\n/dev/x 100 99 1048577 99%% /\\n"')
    assert "1 GB free, 3 GB needed" in machine.refusal()


def test_a_finished_installation_is_not_repeated_and_an_interrupted_one_starts_afresh(
    machine: Machine,
) -> None:
    machine.program("python3", REAL)
    # A venv whose pip fails: a call of it is an attempt to install.
    fake = machine.checkout / ".venv/bin/python"
    fake.parent.mkdir(parents=True)
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *"pip install"*) exit 1;; *) exec {sys.executable} "$@";; esac\n'
    )
    fake.chmod(0o755)
    (machine.checkout / ".venv/.path").write_text(f"{machine.checkout}\n")
    checksum = subprocess.run(
        f"cat {' '.join(INSTALLED_FROM)} | cksum | cut -d' ' -f1",
        shell=True,
        cwd=machine.checkout,
        capture_output=True,
        text=True,
    ).stdout.strip()
    stamp = machine.checkout / ".venv/.installed-test"
    stamp.write_text(f"{checksum} {machine.checkout}\n")
    assert machine.install("test").returncode == 0
    assert machine.install("run").returncode == 0, "tests need more than the program"
    done = machine.install("dev")
    assert done.returncode == 1 and "[3/3] Installing pbt-arena[dev]" in done.stderr
    machine.program("df", 'printf "head\\n/dev/x 100 99 1048577 99%% /\\n"')
    done = machine.install("run")
    assert (
        "was interrupted; starting it afresh" in done.stderr
        and not stamp.exists()
        and not fake.exists()
    )


def test_the_script_asks_for_the_torch_of_the_project() -> None:
    script = (ROOT / "scripts/venv.sh").read_text()
    (required,) = (
        need
        for need in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        if need.startswith("torch")
    )
    assert f'torch="{required}"' in script
    assert re.search(rf'torch_cpu="{re.escape(required.removesuffix("*"))}\d+\+cpu"', script)
    assert (
        f'torch.__version__.startswith("{required.removeprefix("torch==").removesuffix("*")}")'
        in script
    )


@pytest.mark.slow
def test_the_wheel_holds_configs_migrations_and_both_commands(tmp_path: Path) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(tmp_path),
            str(ROOT),
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
        commands = archive.read(entry_points).decode()
    assert {
        "pbt/config/shipped/demo.toml",
        "pbt/config/shipped/connect_four.toml",
        "pbt/py.typed",
        "arena/py.typed",
    } <= names
    assert (
        hatch_build.npm() is None
        or {f"{hatch_build.BUNDLE}/index.html", f"{hatch_build.STAMP}"} <= names
    )
    assert not any(name.startswith("web/") or "node_modules" in name for name in names)
    libraries = {str(path) for path in hatch_build.LIBRARIES}
    assert libraries & names == (libraries if hatch_build.compiler() else set())
    assert wheel.name.endswith("-py3-none-any.whl") == (hatch_build.compiler() is None)
    assert any(
        name.startswith("arena/league/migrations/versions/") and name.endswith(".py")
        for name in names
    )
    for program in ("arena", "pbt-arena"):
        assert f"{program} = arena.__main__:main" in commands
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "pbt",
        "arena",
        "api",
    }


def test_the_dashboard_is_built_once_for_the_same_sources(tmp_path: Path) -> None:
    """Without Node.js: what is built from other sources goes, what is built from these stays."""
    source = tmp_path / "web/src/main.tsx"
    source.parent.mkdir(parents=True)
    source.write_text("one")
    stamp = tmp_path / hatch_build.STAMP
    stamp.parent.mkdir(parents=True)
    made_from = hatch_build.web_fingerprint(tmp_path)
    assert made_from is not None
    stamp.write_text(made_from)
    assert hatch_build.bundle_is_whole(tmp_path) and hatch_build.build_web(tmp_path) is None
    (tmp_path / "web/node_modules").mkdir()
    (tmp_path / "web/node_modules/installed").touch()
    assert hatch_build.bundle_is_whole(tmp_path), "what npm installs is no source"
    source.write_text("two")
    assert not hatch_build.bundle_is_whole(tmp_path)
    assert hatch_build.build_web(tmp_path) is not None and not stamp.exists(), (
        "web/package.json is missing, so nothing can be built"
    )


def test_a_machine_without_node_asks_for_it_as_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(hatch_build.importlib.util, "find_spec", lambda name: None)
    assert hatch_build.npm() is None
    hook = hatch_build.NativeAndWeb(str(tmp_path), {}, None, None, str(tmp_path), "wheel")
    assert hook.dependencies() == [], "there is nothing to build"
    (tmp_path / "web").mkdir()
    (tmp_path / "web/index.html").touch()
    assert hook.dependencies() == [hatch_build.NODE_PACKAGE]
