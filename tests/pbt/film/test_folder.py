"""Films are found by their games, the newest stay, and files of killed processes go."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena.data.paths import PopulationPaths
from pbt.film.folder import FOLDER, PARTIAL, FilmFolder, FilmName

HASH = "0123456789abcdef"


def put(folder: Path, count: int, size: int = 10) -> FilmName:
    """A film, newer than those of smaller counts."""
    name = FilmName(3, count, HASH)
    path = folder / name.file
    path.write_bytes(b"x" * size)
    os.utime(path, (1000 + count, 1000 + count))
    return name


def counts(folder: FilmFolder) -> list[int]:
    return [film.name.count for film in folder.films()]


@pytest.mark.parametrize("name", [FilmName(0, 0, HASH), FilmName(12, 345, "f" * 16)])
def test_a_name_tells_its_game(name: FilmName) -> None:
    assert FilmName.of(name.file) == name


OTHERS = (
    "",
    "a.mp4",
    f"1-2-{HASH}.mp4.part",
    f"1-2-{HASH[1:]}.mp4",
    f"-1-2-{HASH}.mp4",
    f"1-2-{HASH.upper()}.mp4",
    "problem.txt",
)


@pytest.mark.parametrize("file", OTHERS)
def test_other_files_are_no_films(tmp_path: Path, file: str) -> None:
    assert FilmName.of(file) is None
    if file:
        (tmp_path / file).touch()
    assert FilmFolder(tmp_path).films() == []


def test_films_lie_in_the_population_s_folder() -> None:
    assert PopulationPaths(Path("p")).films == Path("p/snapshots").with_name(FOLDER)


def test_the_newest_are_kept(tmp_path: Path) -> None:
    folder = FilmFolder(tmp_path)
    for count in range(6):
        put(tmp_path, count)
    folder.tidy(4, 10**6)
    assert counts(folder) == [2, 3, 4, 5]
    folder.tidy(4, 30)
    assert counts(folder) == [3, 4, 5]
    folder.tidy(4, 29)
    assert counts(folder) == [4, 5]
    folder.tidy(4, 1)
    assert counts(folder) == []


def test_a_folder_that_is_not_there_has_no_films(tmp_path: Path) -> None:
    folder = FilmFolder(tmp_path / "none")
    folder.tidy(1, 1)
    folder.remove_leftovers()
    folder.note_problem("no folder for this text")
    assert folder.films() == [] and folder.problem() is None


def test_a_link_is_no_film(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / FilmName(1, 2, HASH).file).symlink_to(tmp_path / "secret")
    assert FilmFolder(tmp_path).films() == []


def test_only_what_the_dead_had_begun_goes(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = [tmp_path / f".1-2.mp4.{pid}{PARTIAL}" for pid in (gone.pid, os.getpid())]
    for path in left:
        path.touch()
    put(tmp_path, 1)
    FilmFolder(tmp_path).remove_leftovers()
    assert [path.exists() for path in left] == [False, True] and counts(FilmFolder(tmp_path)) == [1]


def test_the_newest_problem_is_told(tmp_path: Path) -> None:
    folder = FilmFolder(tmp_path)
    assert folder.problem() is None
    folder.note_problem("the disk is full")
    folder.note_problem("the disk is full again")
    assert folder.problem() == "the disk is full again"


def test_a_problem_in_words_that_no_file_can_hold_is_told_all_the_same(tmp_path: Path) -> None:
    FilmFolder(tmp_path).note_problem("no file \udce9")
    assert FilmFolder(tmp_path).problem() == "no file \\udce9"
