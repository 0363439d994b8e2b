"""The folder of a population's films: where they lie, and how many are kept.

Loads neither PyAV nor Pillow.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

FOLDER = "films"
"""Name of the folder, which lies beside a population's snapshots."""
SUFFIX = ".mp4"
# The end of the name of a video that is being written, after the writer's pid.
PARTIAL = ".partial"
_WRITER = re.compile(rf"\..*\.(?P<pid>\d+){re.escape(PARTIAL)}")
_NAME = re.compile(
    r"(?P<table>\d{1,10})-(?P<count>\d{1,18})-(?P<trajectory>[0-9a-f]{16})" + re.escape(SUFFIX)
)
_PROBLEM = "problem.txt"


@dataclass(frozen=True, slots=True)
class FilmName:
    """The name of a film, which is that of its game.

    table            number of the table
    count            the table's running number of the game
    trajectory_hash  hash of its actions, since a resumed training may count again
    """

    table: int
    count: int
    trajectory_hash: str

    @property
    def file(self) -> str:
        return f"{self.table}-{self.count}-{self.trajectory_hash}{SUFFIX}"

    @classmethod
    def of(cls, file: str) -> Self | None:
        """The name in a file name; None for the name of anything else."""
        match = _NAME.fullmatch(file)
        if match is None:
            return None
        return cls(int(match["table"]), int(match["count"]), match["trajectory"])


@dataclass(frozen=True, slots=True)
class StoredFilm:
    """A film in the folder.

    made_at  seconds since 1970
    """

    name: FilmName
    path: Path
    size_bytes: int
    made_at: float


class FilmFolder:
    """Whole films under the names of their games.

    Several processes may write at the same time.
    """

    def __init__(self, path: Path) -> None:
        """The folder need not exist yet."""
        self.path = path

    def films(self) -> list[StoredFilm]:
        """The films, the oldest first. Films that are removed meanwhile are left out."""
        films = []
        for path in self.path.glob(f"*{SUFFIX}"):
            name = FilmName.of(path.name)
            with suppress(FileNotFoundError):
                if name is not None and path.is_file() and not path.is_symlink():
                    status = path.stat()
                    films.append(StoredFilm(name, path, status.st_size, status.st_mtime))
        return sorted(films, key=lambda film: (film.made_at, film.path.name))

    def tidy(self, most_films: int, most_bytes: int) -> None:
        """Remove the oldest films until the rest is small enough.

        most_films  how many may stay
        most_bytes  how many bytes they may have together
        """
        films = self.films()
        left_bytes = sum(film.size_bytes for film in films)
        for left, film in zip(range(len(films), 0, -1), films, strict=True):
            if left <= most_films and left_bytes <= most_bytes:
                return
            film.path.unlink(missing_ok=True)
            left_bytes -= film.size_bytes

    def remove_leftovers(self) -> None:
        """Remove what processes that are gone had begun to write."""
        remove_begun(self.path.glob(f".*{PARTIAL}"))

    def note_problem(self, text: str) -> None:
        """Note why the newest film that failed did so.

        The note itself may fail, as on a full disk; then it is left out.
        """
        with suppress(OSError):
            (self.path / _PROBLEM).write_text(
                f"{text}\n", encoding="utf-8", errors="backslashreplace"
            )

    def problem(self) -> str | None:
        """The newest problem noted; None where all went well."""
        try:
            return (self.path / _PROBLEM).read_text(encoding="utf-8").strip()
        except OSError:
            return None


def remove_begun(videos: Iterable[Path]) -> None:
    """Remove the videos among these that processes that are gone had begun to write.

    What may not be removed, such as another account's, stays.
    """
    for path in videos:
        writer = _WRITER.fullmatch(path.name)
        if writer is not None and not _lives(int(writer["pid"])):
            with suppress(OSError):
                path.unlink()


def _lives(pid: int) -> bool:
    """Whether a process with this pid exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
