"""README.md and the pages of docs say what is true: every command that they quote is one, the main
ones run, and the settings of the runtime are all there.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arena.cli import app as cli
from arena.cli.commands import COMMANDS as REGISTERED
from pbt.config.running import RuntimeConfig
from tests.arena.tiny_populations import CONNECT_FOUR, train
from tests.e2e.readme_parts import DOCUMENTS, ROOT, blocks, commands, quoted_lines, shell_lines

README, COMMANDS, PLAYERS = (
    ROOT / name for name in ("README.md", "docs/commands.md", "docs/players.md")
)
LONGEST_README = 250
QUOTED = [
    pytest.param(words, lines is quoted_lines, id=f"{path.name}: {' '.join(words)}")
    for path in DOCUMENTS
    for lines in (shell_lines, quoted_lines)
    for words in commands(lines(path))
]
# Long ones are cut short; later options win.
SHORTER = {"match": ["--games", "8"], "evaluate": ["--episodes", "4"]}
LOOKING = {
    "match",
    "evaluate",
    "league",
    "rounds",
    "verify",
    "populations",
    "games",
    "metrics",
    "status",
    "delete",
    "env",
    "config",
    "doctor",
}
UNTRAINED = {"./my_game.py:make", "my@best", "my", "doom_basic@best", "tag/prey@best"}
EVERY_DAY = [
    words
    for words in commands(list(dict.fromkeys(shell_lines(README) + shell_lines(COMMANDS))))
    if words[0] in LOOKING and not UNTRAINED & {*words}
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a population of three, `demo`."""
    folder = tmp_path_factory.mktemp("readme") / "data"
    train(folder, "demo", {**CONNECT_FOUR, "population": {"members": 3}, "stop_at_frames": 1000})
    return folder


@pytest.mark.parametrize(("words", "in_text"), QUOTED)
def test_every_quoted_command_line_is_understood(words: list[str], in_text: bool) -> None:
    """Running text may also name a command without its arguments."""
    if words[0].startswith("-"):
        assert cli.run(words) == 0
        return
    row = next((command for command in REGISTERED if command.name == words[0]), None)
    assert row is not None, f"no command {words[0]}"
    command: Any = cli.load_command(row)
    rest = words[1:]
    while hasattr(command, "commands") and rest:
        name, *rest = rest
        assert name in command.commands, f"no command {name} in {words[0]}"
        command = command.commands[name]
    if in_text and not rest:
        return
    # Parses and checks every option and argument, and runs nothing; raises for one that is not
    # known.
    command.make_context(words[0], rest)


@pytest.mark.parametrize("words", EVERY_DAY, ids=" ".join)
def test_the_daily_commands_run(
    words: list[str],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARENA_DATA", str(data))
    named = [re.sub(r"^first\b", "demo", word) for word in words]
    code = cli.run([*named, *SHORTER.get(words[0], [])])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert captured.out or "--out" in words


def test_the_daily_commands_are_all_there() -> None:
    assert {words[0] for words in EVERY_DAY} == LOOKING


def test_the_python_example_runs(data: Path, tmp_path: Path) -> None:
    (example,) = (block for block in blocks(PLAYERS, "python") if "load_player" in block)
    assert len([line for line in example.splitlines() if line]) == 5
    environment = {**os.environ, "ARENA_DATA": str(data), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-c", example]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) in range(7)


def test_every_command_of_the_program_is_on_the_page_of_commands() -> None:
    shown = {words[0] for words in commands(shell_lines(COMMANDS) + quoted_lines(COMMANDS))}
    assert {command.name for command in REGISTERED} - shown == {"demo"}, "`make demo` has its own"


def test_the_readme_stays_short_and_leads_to_every_page() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_README
    assert not [
        page for page in DOCUMENTS if page != README and f"({page.relative_to(ROOT)})" not in text
    ]


def test_every_key_of_the_runtime_is_documented_with_its_default() -> None:
    rows = re.findall(
        r"^\| (`runtime\..*?`) \| (.*?) \|",
        (ROOT / "docs/placements.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    documented = {
        key: default.strip("`")
        for keys, default in rows
        for key in re.findall(r"`runtime\.(\w+)`", keys)
    }
    assert documented == {
        name: json.dumps(value) for name, value in RuntimeConfig().model_dump().items()
    }
