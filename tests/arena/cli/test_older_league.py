"""A league of an earlier version: commands that write upgrade it before they look for players in
it, others name one that does.
"""

from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import _engine
from arena.league.migrate import SCRIPTS, ensure_schema
from arena.league.schema import SCHEMA_REVISION

OLDER = "0002"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("older")
    league_path(folder).touch()
    ensure_schema(
        _engine(league_path(folder), read_only=False), league_path(folder), SCRIPTS, OLDER
    )
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ["league"],
        ["match", "old@best", "random", "--no-record"],
        ["evaluate", "old@best"],
        ["delete", "old", "--dry-run"],
    ],
)
def test_who_only_reads_is_told_what_upgrades_it(
    data: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert run([*command, "--data", str(data)]) == 1
    said = capsys.readouterr().err
    assert (
        f"its schema is {OLDER}, this program's is {SCHEMA_REVISION}; commands that write "
        "upgrade it and keep a copy beside it"
    ) in said
    assert "`arena upgrade`" in said


def test_a_command_upgrades_and_does_nothing_else(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["upgrade", "--data", str(tmp_path)]) == 2
    assert "there is no league" in capsys.readouterr().err
    league_path(tmp_path).write_bytes(league_path(data).read_bytes())
    for _ in range(2):
        assert run(["upgrade", "--data", str(tmp_path)]) == 0
        assert f"schema {SCHEMA_REVISION}" in capsys.readouterr().out
    assert (tmp_path / f"{league_path(tmp_path).name}.schema-{OLDER}.backup").exists()
    assert run(["league", "--data", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "command",
    [
        ["match", "old@best", "random"],
        ["tournament", "old@best", "random"],
        ["delete", "old", "--yes"],
    ],
)
def test_who_writes_upgrades_it_first(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    league_path(tmp_path).write_bytes(league_path(data).read_bytes())
    assert run([*command, "--data", str(tmp_path)]) == 2
    assert "schema" not in capsys.readouterr().err
    assert (tmp_path / f"{league_path(tmp_path).name}.schema-{OLDER}.backup").exists()
    assert run(["league", "--data", str(tmp_path)]) == 0
