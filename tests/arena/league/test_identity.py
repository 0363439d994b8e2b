"""A data directory that is moved away, put back, copied, or taken for another one."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.data.paths import league_path
from arena.league.database import League, open_league
from arena.league.identity import folder_identity
from arena.league.league_file import LeagueError
from arena.league.populations import NewPopulation, insert_population
from arena.league.summaries import list_populations
from pbt.errors import PbtError


def add(league: League, name: str) -> None:
    with league.write() as connection:
        insert_population(
            connection, NewPopulation(name, "connect_four", {}, {}, [("m0", "player")])
        )


def names(league: League) -> list[str]:
    return [population.name for population in list_populations(league)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def league(data: Path) -> Iterator[League]:
    with open_league(league_path(data)) as opened:
        add(opened, "first")
        yield opened


def test_the_first_writer_gives_one_identity_that_stays(league: League, data: Path) -> None:
    given = folder_identity(data)
    assert given is not None
    before = league.path.read_bytes()
    with open_league(league.path) as again:
        assert names(again) == ["first"]
    assert (folder_identity(data), league.path.read_bytes()) == (given, before)


def test_a_copy_has_the_same_identity_and_another_directory_has_not(
    league: League, data: Path, tmp_path: Path
) -> None:
    league.close()
    shutil.copytree(data, tmp_path / "copy")
    open_league(league_path(tmp_path / "copy")).close()
    open_league(league_path(tmp_path / "other")).close()
    assert folder_identity(tmp_path / "copy") == folder_identity(data)
    assert folder_identity(tmp_path / "other") != folder_identity(data)


def test_a_league_of_another_directory_is_told(league: League, data: Path, tmp_path: Path) -> None:
    league.close()
    open_league(league_path(tmp_path / "other")).close()
    shutil.copy(league_path(tmp_path / "other"), league.path)
    with pytest.raises(PbtError, match="comes from another data directory"):
        open_league(league.path)


def test_no_league_is_made_where_one_was(league: League) -> None:
    league.close()
    league.path.rename(league.path.with_name("elsewhere"))
    with pytest.raises(LeagueError, match="it is gone"):
        open_league(league.path)
    assert not league.path.exists()


def move_back(away: Path, data: Path) -> None:
    away.rename(data)


def copy_back(away: Path, data: Path) -> None:
    """As another disk with the same content that is mounted there."""
    shutil.copytree(away, data)


@pytest.mark.parametrize("put_back", [move_back, copy_back])
@pytest.mark.parametrize("left", [False, True])
def test_nothing_is_read_or_written_while_it_is_away(
    league: League, data: Path, put_back: Callable[[Path, Path], None], left: bool
) -> None:
    away = data.with_name("away")
    data.rename(away)
    if left:  # an empty folder, as an unmounted disk leaves it
        data.mkdir()
    with pytest.raises(LeagueError, match="not there any more"):
        add(league, "second")
    with pytest.raises(LeagueError, match="not there any more"):
        names(league)
    assert not league.path.exists()
    if left:
        data.rmdir()
    put_back(away, data)
    add(league, "second")
    assert names(league) == ["first", "second"]
    with open_league(league.path, read_only=True) as seen:
        assert names(seen) == ["first", "second"]


def test_another_league_in_its_place_is_not_taken_for_it(league: League, data: Path) -> None:
    data.rename(data.with_name("away"))
    with open_league(league.path) as other, pytest.raises(LeagueError, match="another league"):
        add(league, "second")
    with open_league(other.path) as other:
        assert names(other) == []


READ = """
import sys
from pathlib import Path
from arena.league.database import open_league
from arena.league.summaries import list_populations
try:
    with open_league(Path(sys.argv[1]), read_only=True) as league:
        print([population.name for population in list_populations(league)])
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, if root runs the tests")
@pytest.mark.parametrize("log", ["none", "empty", "full"])
def test_a_league_in_a_folder_that_cannot_be_written_to_is_read(
    data: Path, tmp_path: Path, log: str
) -> None:
    """Without a write-ahead log, as a finished training leaves it; never without its rows."""
    with open_league(league_path(data)) as league:
        add(league, "first")
    copy = shutil.copytree(data, tmp_path / "copy")
    if log == "full":
        with open_league(league_path(data)) as league:
            add(league, "second")
            shutil.copytree(data, copy, dirs_exist_ok=True)
            (copy / "league.db-shm").unlink()
    elif log == "empty":
        (copy / "league.db-wal").touch()
    copy.chmod(0o555)
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    command = [*words, sys.executable, "-c", READ, str(copy / "league.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    if log == "full":
        assert "its newest rows stand in league.db-wal" in done.stdout
    else:
        assert done.stdout == "['first']\n"
    assert not (copy / "league.db-shm").exists()
