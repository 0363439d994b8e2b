"""The command line as people meet it: fast help, one message per mistake, exit codes."""

import errno
import os
import resource
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from arena.cli import app as cli
from arena.cli.commands import COMMANDS, Command
from pbt.errors import ConfigError, EngineError, PlayerError

ROOT = Path(cli.__file__).resolve().parents[2]


def arena(
    *arguments: str, cwd: Path, data: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, started as its children are: with -P."""
    full = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "120",
        "ARENA_DATA": str(data or cwd / "arena-data"),
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-P", "-m", "arena", *arguments],
        cwd=cwd,
        env=full,
        capture_output=True,
        text=True,
        timeout=60,
    )


def processor_s(*words: str, cwd: Path) -> float:
    """What a run of Python with these words takes of the processor: other work on the machine is
    not the program's.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-P", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_is_fast(tmp_path: Path) -> None:
    """0.24 s where loading Typer alone takes 0.09 s; machines differ, so the two are compared,
    one after the other.
    """
    taken = [
        (
            processor_s("-m", "arena", "--help", cwd=tmp_path),
            processor_s("-c", "import typer", cwd=tmp_path),
        )
        for _ in range(5)
    ]
    assert statistics.median(helped / loaded for helped, loaded in taken) < 3.3, taken


def test_help_lists_every_command_with_an_example(tmp_path: Path) -> None:
    done = arena("--help", cwd=tmp_path)
    assert done.returncode == 0
    text = " ".join(done.stdout.replace("│", " ").split())
    for command in COMMANDS:
        assert command.name in text
        assert command.example in text
    for panel in {command.panel for command in COMMANDS}:
        assert panel in text


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from arena.cli.app import run; run(['--help']); print(*sys.modules, "
        "file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(cli.__file__).parents[2],
    )
    assert not set(done.stderr.split()) & {
        "torch",
        "numpy",
        "scipy",
        "pettingzoo",
        "gymnasium",
        "sqlalchemy",
        "pydantic",
        "psutil",
    }


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_row_of_the_table_names_a_command_that_exists(command: Command) -> None:
    assert find_spec(command.target.partition(":")[0]) is not None
    assert cli.load_command(command).name == command.name


def commands_of(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """(what is typed, command) of a command and of all below it."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for part in command.commands.values():
        yield from commands_of(part, f"{name} {part.name}")


EVERY = [
    found
    for command in COMMANDS
    for found in commands_of(cli.load_command(command), f"arena {command.name}")
]


@pytest.mark.parametrize(("name", "command"), EVERY, ids=[name for name, _ in EVERY])
def test_every_parameter_has_a_help_and_every_number_two_ends(name: str, command: Any) -> None:
    """A number without a largest value ends in an overflow, or in memory that runs out."""
    for parameter in command.params:
        assert parameter.help, parameter.name
        if parameter.type_descriptor.annotation in (int, float):
            assert None not in (parameter.min, parameter.max), parameter.name


def test_no_arguments_show_help(tmp_path: Path) -> None:
    assert "Usage: arena" in arena(cwd=tmp_path).stdout


def test_a_mistyped_command_is_a_usage_error(tmp_path: Path) -> None:
    done = arena("trian", cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'train'?" in done.stderr
    assert done.stdout == ""


def test_version(tmp_path: Path) -> None:
    from pbt import __version__

    assert arena("--version", cwd=tmp_path).stdout == f"pbt-arena {__version__}\n"


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> "Fail":
    return Fail(monkeypatch)


class Fail:
    """Lets the command `doctor` raise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def run(self, error: BaseException, arguments: Sequence[str] = ("doctor",)) -> int:
        def doctor() -> None:
            raise error

        self._monkeypatch.setattr("arena.cli.doctor.doctor", doctor)
        return cli.run(arguments)


def test_errors_become_one_message_and_an_exit_code(
    failing: Fail, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing.run(ConfigError("run.toml", ["a: b; c"])) == 2
    assert failing.run(PlayerError("no player is called demo/m9; players: demo/m0")) == 2
    assert failing.run(EngineError("slot 3 has two owners")) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "error: run.toml has 1 problem",
        "  a: b; c",
        "error: no player is called demo/m9; players: demo/m0",
        "error: slot 3 has two owners",
    ]


def test_control_c_exits_130(failing: Fail) -> None:
    assert failing.run(KeyboardInterrupt()) == 130


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory, which is that of all commands."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("ARENA_DATA", str(folder))
    return folder


def test_control_c_while_the_program_loads_leaves_no_traceback(tmp_path: Path) -> None:
    """A library that the program loads first stands in for the moment."""
    (tmp_path / "typer.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n")
    done = arena("--version", cwd=tmp_path, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (done.returncode, done.stdout, done.stderr) == (cli.INTERRUPTED, "", "")


def test_control_c_while_the_program_leaves_leaves_no_traceback(tmp_path: Path) -> None:
    """The result is there; the shell says 130 of a program that the signal ended."""
    leaving = "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
    (tmp_path / "sitecustomize.py").write_text(leaving)
    done = arena("--version", cwd=tmp_path, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout.startswith("pbt-arena ")


def test_a_bug_leaves_one_line_and_a_log(
    failing: Fail, capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    assert failing.run(ZeroDivisionError("by zero\nsecond line")) == 1
    (line,) = capsys.readouterr().err.splitlines()
    (log,) = (data / "logs").iterdir()
    assert line.startswith("error: unexpected ZeroDivisionError: by zero;") and str(log) in line
    assert "Traceback" in log.read_text() and "second line" in log.read_text()


def test_a_place_that_cannot_be_written_is_no_bug(
    failing: Fail,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert (
        failing.run(PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "imported")))
        == 1
    )
    assert failing.run(OSError(errno.ENOSPC, "No space left on device")) == 1
    assert capsys.readouterr().err.splitlines() == [
        (
            f"error: {tmp_path / 'imported'}: Permission denied; expected a place that you may "
            "write to, on a disk with room"
        ),
        (
            "error: No space left on device; expected a place that you may write to, on a disk "
            "with room"
        ),
    ]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert failing.run(FileNotFoundError(errno.ENOENT, "No such file or directory", "x")) == 1
    assert "unexpected FileNotFoundError" in capsys.readouterr().err


def test_a_bug_without_data_directory_makes_none(
    failing: Fail,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ARENA_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert failing.run(ValueError("x")) == 1
    assert not (tmp_path / "nowhere").exists()
    assert str(tmp_path / "arena-crash-") in capsys.readouterr().err


def test_a_bug_that_no_folder_takes_is_printed(
    failing: Fail, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    (data / "logs").write_text("no folder")
    monkeypatch.setattr("tempfile.tempdir", str(data / "nowhere" / "else"))
    assert failing.run(ValueError("x")) == 1
    said = capsys.readouterr().err
    assert "unexpected ValueError: x; the traceback is below" in said and "Traceback" in said
    (data / "logs").unlink()
    assert failing.run(ValueError("x")) == 1
    assert str(data / "logs" / "arena-crash-") in capsys.readouterr().err


def test_a_users_own_modules_of_the_same_name_harm_nothing(tmp_path: Path) -> None:
    for name in ("arena", "pbt", "api", "typer"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    done = arena("config", "schema", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("{")
