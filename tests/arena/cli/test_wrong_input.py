"""What was typed wrongly ends with exit code 2 and a message, before anything is written."""

from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league

Output = pytest.CaptureFixture[str]

# Where there is no league at all.
NOWHERE = (
    "league first",
    "matrix first",
    "matrix",
    "lineage first@best",
    "replay first:1",
    "games first",
    "metrics first",
    "rounds list first",
    "verify first",
    "anchor first@best",
    "export first@best --out OUT",
    "delete first --yes",
    "delete imported/first --yes",
    "import OUT",
    "evaluate first@best",
    "match first@best random",
    "match --resume last",
    "tournament first@best random",
    "status first",
    "stop first",
    "train --resume first",
)
WITHOUT_DATA = ("config", "env")
# In a league that holds nothing of the name, or for what makes no sense anywhere.
NAMELESS = (
    "league first",
    "league --env no_such_game",
    "league first --env connect_four",
    "matrix first",
    "matrix --csv --json",
    "lineage first/m0",
    "lineage random",
    "lineage exec:./bot.py",
    "lineage imported/x",
    "replay first:1",
    "replay match:7:0",
    "replay rubbish",
    "games first",
    "games first --kind other",
    "metrics first --out OUT",
    "verify first",
    "anchor random",
    "export random --out OUT",
    "export exec:./bot.py --out OUT",
    "export imported/x --out OUT",
    "import no_such_file",
    "import OUT --name ../up",
    "delete first --yes",
    "delete ../first --yes",
    "delete imported/x --yes",
    "delete imported/../x --yes",
    "evaluate random --env no_such_game",
    "evaluate random --env cartpole --set stepps=3",
    "match random random --env connect_four --set stepps=3",
    "match random random --env cartpole --set stepps=3",
    "match random oneply --env connect_four --sprt 5,5",
    "match random exec:./no_such_bot --env connect_four",
    "match --resume 7",
    "match --resume last",
    "match --resume x",
    "match --resume ²",
    "match --resume 99999999999999999999",
    "verify match:999999999999999999",
    "verify first --replay ²",
    "replay match:999999999999999999:0",
    "replay first:9999999999",
    "lineage first/m0@999999999999999999999999M",
    "metrics first --csv --out EMPTY",
    "export first@best --out EMPTY",
    "backup EMPTY",
    "restore EMPTY",
    "import EMPTY",
    "env replay EMPTY",
    "config show EMPTY",
    "train EMPTY",
    "lineage first@best --export-schedule EMPTY",
    "watch random --env doom --out EMPTY",
    "tournament random --env connect_four",
    "tournament random random --env connect_four",
    "tournament random oneply --env connect_four --set stepps=3",
    "compare no_such.toml connect_four --frames 1000",
    "compare connect_four connect_four --frames 1000 --name BAD!",
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty league."""
    folder = tmp_path_factory.mktemp("empty") / "data"
    open_league(league_path(folder)).close()
    return folder


def refused(line: str, data: Path, capsys: Output) -> str:
    """The message."""
    out = str(data.parent / "out")
    words = [{"OUT": out, "EMPTY": ""}.get(word, word) for word in line.split()]
    assert run([*words, *(() if words[0] in WITHOUT_DATA else ("--data", str(data)))]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    # A line for each problem, below one that says where they are.
    assert len(said.err.splitlines()) == 1 or (
        "has 1 problem\n" in said.err and len(said.err.splitlines()) == 2
    )
    assert not Path(out).exists()
    return said.err


@pytest.mark.parametrize("line", NOWHERE)
def test_without_a_league(line: str, tmp_path: Path, capsys: Output) -> None:
    refused(line, tmp_path / "data", capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", NAMELESS)
def test_in_a_league(line: str, data: Path, capsys: Output) -> None:
    refused(line, data, capsys)
    assert {path.name for path in data.iterdir()} <= {
        "league.db",
        "league.db-wal",
        "league.db-shm",
        "league.db.upgrade-lock",
        "identity",
        "matches.lock",
    }


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("train /dev/null", "/dev/null: a device or a pipe; expected a .toml file"),
        ("config show /dev/null", "/dev/null: a device or a pipe; expected a .toml file"),
        ("import /dev", "/dev: not a file; expected the weights"),
        (
            "league first --env connect_four",
            "the choice of ratings has 1 problem\n  env connect_four with",
        ),
    ],
)
def test_what_is_there_is_not_called_missing(
    line: str, found: str, data: Path, capsys: Output
) -> None:
    assert found in refused(line, data, capsys)


@pytest.mark.parametrize("command", ["lineage", "export --out OUT", "anchor"])
def test_a_player_without_weights_is_called_that(command: str, data: Path, capsys: Output) -> None:
    name, *options = command.split()
    said = refused(" ".join((name, "random", *options)), data, capsys)
    assert said.startswith(
        "error: player 'random': found a built-in player, which has no weights; expected a "
        "snapshot: demo/m2 (newest"
    )
    assert "found a program" in refused(" ".join((name, "exec:./bot.py", *options)), data, capsys)
