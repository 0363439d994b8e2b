"""Films of a population's own games: where they lie, and how many of them. Loads neither PyAV
nor Pillow.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

FOLDER = "films"
"""Beside a population's snapshots."""
SUFFIX = ".mp4"
# What follows the pid in the name of a video that is being written.
PARTIAL = ".partial"
_WRITER = re.compile(rf"\..*\.(?P<pid>\d+){re.escape(PARTIAL)}")
_NAME = re.compile(
    rf"(?P<table>\d{{1,10}})-(?P<count>\d{{1,18}})-(?P<trajectory>[0-9a-f]{{16}}){re.escape(SUFFIX)}"
)
_PROBLEM = "problem.txt"


@dataclass(frozen=True, slots=True)
class FilmName:
    """Of the game that a film shows: the table's running number of it, and the hash of its
    actions, since a resumed training may count again.
    """

    table: int
    count: int
    trajectory_hash: str

    @property
    def file(self) -> str:
        return f"{self.table}-{self.count}-{self.trajectory_hash}{SUFFIX}"

    @classmethod
    def of(cls, file: str) -> Self | None:
        """None for the name of anything else."""
        found = _NAME.fullmatch(file)
        return (
            None
            if found is None
            else cls(int(found["table"]), int(found["count"]), found["trajectory"])
        )


@dataclass(frozen=True, slots=True)
class StoredFilm:
    """made_at: seconds since 1970"""

    name: FilmName
    path: Path
    size_bytes: int
    made_at: float


class FilmFolder:
    """Whole films under the names of their games. Several processes may write at the same time."""

    def __init__(self, path: Path) -> None:
        """Need not be there yet."""
        self.path = path

    def films(self) -> list[StoredFilm]:
        """The oldest first; those that go meanwhile are passed over."""
        found = []
        for path in self.path.glob(f"*{SUFFIX}"):
            name = FilmName.of(path.name)
            with suppress(FileNotFoundError):
                if name is not None and path.is_file() and not path.is_symlink():
                    status = path.stat()
                    found.append(StoredFilm(name, path, status.st_size, status.st_mtime))
        return sorted(found, key=lambda film: (film.made_at, film.path.name))

    def tidy(self, most_films: int, most_bytes: int) -> None:
        """Remove the oldest until there are no more than so many, of no more than so many bytes
        together.
        """
        films = self.films()
        left_bytes = sum(film.size_bytes for film in films)
        for left, film in zip(range(len(films), 0, -1), films, strict=True):
            if left <= most_films and left_bytes <= most_bytes:
                return
            film.path.unlink(missing_ok=True)
            left_bytes -= film.size_bytes

    def remove_leftovers(self) -> None:
        """What processes that are gone had begun to write."""
        remove_begun(self.path.glob(f".*{PARTIAL}"))

    def note_problem(self, text: str) -> None:
        """Why the newest film that went wrong did. Not even that need succeed: the disk may be
        full.
        """
        with suppress(OSError):
            (self.path / _PROBLEM).write_text(
                f"{text}\n", encoding="utf-8", errors="backslashreplace"
            )

    def problem(self) -> str | None:
        """The newest one; None where all went well."""
        try:
            return (self.path / _PROBLEM).read_text(encoding="utf-8").strip()
        except OSError:
            return None


def remove_begun(videos: Iterable[Path]) -> None:
    """Of these, what processes that are gone had begun to write. What may not be removed, such
    as another account's, stays.
    """
    for path in videos:
        writer = _WRITER.fullmatch(path.name)
        if writer is not None and not _lives(int(writer["pid"])):
            with suppress(OSError):
                path.unlink()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
