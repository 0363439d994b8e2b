"""The file of a backup: a plain tar, with the SHA-256 of every file in its last member.

A backup is one file, because one file is whole or absent after a rename, is moved and uploaded as
one, and no training can go on in it by mistake. It is not compressed: weights do not shrink.

All members lie below `arena-data/`. The last one, `SHA256SUMS`, has a line for each of the others
as `sha256sum` writes it, so that `tar xf` and `sha256sum -c SHA256SUMS` need no arena. A backup
without it was cut off.
"""

import hashlib
import io
import os
import re
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from pbt.errors import PbtError

FOLDER = "arena-data/"
SUMS = "SHA256SUMS"
CHUNK_BYTES = 1 << 20
MOST_SUMS_BYTES = 1 << 28
_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<name>[^\n]+)")
_PART = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+ -]*")

Told = Callable[[int], None]
"""Called with how many bytes were read or written since the last call."""


class BackupError(PbtError):
    """A backup is damaged, cut off or no backup, or could not be made."""


class NoBackupError(BackupError):
    """There is no file of the name that the user gave."""

    exit_code = 2


class Hashed:
    """A file that is read once. What passes is counted and hashed."""

    def __init__(self, file: IO[bytes], told: Told) -> None:
        self._file, self._told = file, told
        self._sha256 = hashlib.sha256()

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        chunk = self._file.read(size)
        self._sha256.update(chunk)
        self._told(len(chunk))
        return chunk

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()


class ArchiveWriter:
    """Writes the members of a backup, one after the other.

    file  where to; it is not closed here
    told  called with the bytes of every piece
    """

    def __init__(self, file: BinaryIO, told: Told) -> None:
        self._told, self._sums = told, dict[str, str]()
        self._tar = tarfile.open(  # noqa: SIM115  closed by `finish`
            fileobj=file, mode="w", format=tarfile.PAX_FORMAT
        )

    @property
    def names(self) -> frozenset[str]:
        """The names of the members so far, below the folder of all."""
        return frozenset(self._sums)

    def add(self, name: str, file: BinaryIO, size: int, written_at: float | None = None) -> str:
        """Add a file; returns its SHA-256.

        name        below the folder of all members
        file        read from where it stands, `size` bytes
        written_at  seconds since the epoch; None: now
        Raises: BackupError when the file ends before.
        """
        hashed = Hashed(file, self._told)
        member = tarfile.TarInfo(f"{FOLDER}{name}")
        member.size, member.mode = size, 0o600
        member.mtime = int(time.time() if written_at is None else written_at)
        try:
            self._tar.addfile(member, hashed)
        except OSError as error:
            if error.errno is not None:
                raise
            raise BackupError(f"{name}: it became shorter while it was read") from error
        self._sums[name] = hashed.sha256
        return hashed.sha256

    def add_bytes(self, name: str, content: bytes, written_at: float | None = None) -> str:
        """As `add`, of what is at hand."""
        return self.add(name, io.BytesIO(content), len(content), written_at)

    def finish(self) -> None:
        """Add the sums of all members, and end the tar."""
        lines = [f"{sha256}  {name}\n" for name, sha256 in sorted(self._sums.items())]
        self.add_bytes(SUMS, "".join(lines).encode())
        self._tar.close()


class ArchiveReader:
    """Reads a backup whose members and sums agree in their names.

    sizes  name below the folder of all -> size in bytes; without the sums
    sums   name -> SHA-256
    """

    def __init__(self, path: Path, tar: tarfile.TarFile) -> None:
        self._path, self._tar = path, tar
        self._members = _members(path, tar)
        if SUMS not in self._members:
            raise BackupError(
                f"{path}: no whole backup: it has no {SUMS}, which is written last; it was cut "
                "off or damaged, or is another file: take another backup"
            )
        self.sums = self._read_sums(self._members.pop(SUMS))
        self.sizes = {name: member.size for name, member in self._members.items()}
        if self.sums.keys() != self.sizes.keys():
            name = min(self.sums.keys() ^ self.sizes.keys())
            where = "is listed and not there" if name in self.sums else "is there and not listed"
            raise BackupError(f"{path}: damaged: {name} {where} in {SUMS}; take another backup")

    def _read_sums(self, member: tarfile.TarInfo) -> Mapping[str, str]:
        if member.size > MOST_SUMS_BYTES:
            raise BackupError(f"{self._path}: damaged: {SUMS} has {member.size} bytes")
        file = self._tar.extractfile(member)
        assert file is not None
        content = file.read()
        lines = content.decode("ascii", "replace").splitlines()
        found = [match for line in lines if (match := _LINE.fullmatch(line))]
        if len(content) != member.size or len(found) != len(lines):
            raise BackupError(f"{self._path}: damaged: {SUMS} cannot be read; take another backup")
        return {match["name"]: match["sha256"] for match in found}

    def copy(self, name: str, into: BinaryIO, told: Told) -> None:
        """Write a member's content. Raises: BackupError when it is not what the sums say."""
        file = self._tar.extractfile(self._members[name])
        assert file is not None
        hashed = Hashed(file, told)
        while chunk := hashed.read():
            into.write(chunk)
        if hashed.sha256 != self.sums[name]:
            raise BackupError(
                f"{self._path}: damaged: {name} has the SHA-256 {hashed.sha256[:16]}..., expected "
                f"{self.sums[name][:16]}...; take another backup"
            )

    def content(self, name: str) -> bytes:
        """The content of a small member. Raises: BackupError as `copy`, and where it is missing."""
        if name not in self._members:
            raise BackupError(f"{self._path}: no backup of arena: it has no {name}")
        into = io.BytesIO()
        self.copy(name, into, lambda size: None)
        return into.getvalue()


@contextmanager
def open_archive(path: Path) -> Iterator[ArchiveReader]:
    """A backup to be read. Raises: BackupError, also from the block, for damage of any kind."""
    try:
        with (
            path.open("rb") as file,
            tarfile.open(fileobj=file, mode="r:") as tar,
        ):
            reader = ArchiveReader(path, tar)
            # A tar ends with zeros up to a whole record.
            if os.fstat(file.fileno()).st_size % tarfile.RECORDSIZE:
                raise BackupError(f"{path}: it was cut off near its end; take another backup")
            yield reader
    except (FileNotFoundError, IsADirectoryError) as error:
        if str(error.filename) != str(path):
            raise
        raise NoBackupError(
            f"{path}: {error.strerror}; expected a file of `arena backup`"
        ) from error
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise BackupError(
            f"{path}: no tar of a backup, or damaged ({error}); take another backup"
        ) from error


def _members(path: Path, tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """Raises: tarfile.TarError, or BackupError for a member that no backup has."""
    members: dict[str, tarfile.TarInfo] = {}
    for member in tar:
        name = member.name.removeprefix(FOLDER)
        parts = name.split("/")
        fits = member.name.startswith(FOLDER) and all(map(_PART.fullmatch, parts))
        if not member.isreg() or not fits or name in members:
            raise BackupError(
                f"{path}: {member.name[:80]!r}: no backup has such a member; the file is "
                "damaged, or is another one"
            )
        members[name] = member
    return members
