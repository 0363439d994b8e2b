"""Where files that moved lie, for users with and without a home, and with a damaged table."""

from pathlib import Path

import pytest

from pbt.envs.places import place_of, remember_place
from pbt.errors import EnvError
from pbt.user_folders import expanded, user_folder


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config/pbt-arena/places.json"


def test_the_place_counts_only_while_the_file_itself_is_away(tmp_path: Path, table: Path) -> None:
    first, moved = tmp_path / "game.py", tmp_path / "moved.py"
    moved.touch()
    remember_place(first, moved)
    assert place_of(first) == moved
    first.touch()
    assert place_of(first) == first


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": 1}', "\xff"])
def test_a_damaged_table_is_named_and_kept(tmp_path: Path, table: Path, content: str) -> None:
    table.parent.mkdir(parents=True)
    table.write_text(content, encoding="latin-1")
    away = tmp_path / "game.py"
    for look in (lambda: place_of(away), lambda: remember_place(away, tmp_path)):
        with pytest.raises(EnvError, match=r"places\.json.* mend or remove it"):
            look()
    assert table.read_text(encoding="latin-1") == content


def test_a_user_without_a_home_has_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as for an unknown user
    assert user_folder("XDG_CONFIG_HOME", ".config") is None
    assert place_of(tmp_path / "game.py") == tmp_path / "game.py"
    with pytest.raises(EnvError, match="this user has no home; set XDG_CONFIG_HOME"):
        remember_place(tmp_path / "game.py", tmp_path)


def test_an_unknown_users_home_stays_as_it_is_written() -> None:
    assert expanded("~no_such_user_here/game.py") == Path("~no_such_user_here/game.py")
