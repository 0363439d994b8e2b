"""A missing standard stream, or one without a reader, changes neither a command nor its code."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from arena.data.paths import league_path

BROKEN = {
    "no reader": "| true; exit ${PIPESTATUS[0]}",
    "no output": ">&-",
    "no input": "<&-",
    "no stream": "<&- >&- 2>&-",
    "no room for messages": "2> /dev/full",
}
MATCH = "match random random --env tictactoe --games 4 --data DATA"


def arena(command: str, broken: str, data: Path) -> subprocess.CompletedProcess[str]:
    program = f'"{sys.executable}" -P -m arena {command.replace("DATA", str(data))} {broken}'
    return subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("broken", BROKEN)
def test_the_exit_code_is_that_of_the_work(broken: str, tmp_path: Path) -> None:
    done = arena(MATCH, BROKEN[broken], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "Exception ignored" not in done.stderr
    # What a library prints while no stream is there does not land in the league.
    with sqlite3.connect(league_path(tmp_path)) as league:
        assert league.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert league.execute("SELECT count(*) FROM games").fetchone() == (4,)
    league.close()


def test_an_error_keeps_its_code(tmp_path: Path) -> None:
    done = arena(
        "status nothing --data DATA",
        "2>&1 | true; exit ${PIPESTATUS[0]}",
        tmp_path,
    )
    assert done.returncode == 2


def test_an_error_that_cannot_be_said_keeps_its_code(tmp_path: Path) -> None:
    for command in ("no_such_command", "status nothing --data DATA"):
        assert arena(command, "2> /dev/full", tmp_path).returncode == 2


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    done = arena("--version", "> /dev/full", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No space left on device" in done.stderr


def test_letters_that_the_terminal_does_not_know_cost_no_result() -> None:
    program = (
        "from arena.standard_streams import secure_streams\n"
        "from arena.cli.output import print_json\n"
        "secure_streams()\n"
        "print('0.5 \u00b1 0.1')\n"
        "print_json({'name': 'Zo\u00eb'})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=120,
        check=True,
    )
    measured, name = done.stdout.decode("ascii").splitlines()
    assert measured == "0.5 \\xb1 0.1"
    assert json.loads(name) == {"name": "Zo\u00eb"}


def test_a_watch_ends_when_its_reader_has_gone() -> None:
    program = (
        "import sys, time\n"
        "from arena.standard_streams import secure_streams, unread\n"
        "secure_streams()\n"
        "while not unread(sys.stdout):\n"
        "    print('still here', flush=True)\n"
        "    time.sleep(0.01)\n"
    )
    reader, writer = os.pipe()
    with subprocess.Popen([sys.executable, "-c", program], stdout=writer) as process:
        os.close(writer)
        os.read(reader, 5)
        os.close(reader)
        assert process.wait(30) == 0
