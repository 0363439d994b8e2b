"""Writes files that are whole or absent: each is written beside its place, then renamed."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART_SUFFIX = ".part"
_CHUNK_BYTES = 1 << 20


@contextmanager
def whole_file(
    path: Path, *, durable: bool = False, many_writers: bool = False
) -> Iterator[BinaryIO]:
    """A file to write. It takes the place of `path` at the end of the `with` block.

    After an exception the new file is removed and `path` is as it was. A device or a pipe, such as
    `/dev/stdout`, is written in place.

    durable       the content survives a power cut once this returns; the rename survives one after
                  `sync_folder`
    many_writers  other processes may write the same path at the same time, so the temporary file is
                  named by this process
    Raises: OSError with the name of the file when the disk refuses.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        with path.open("wb") as file:
            yield file
        return
    process = f".{os.getpid()}" if many_writers else ""
    part = path.with_name(f"{path.name}{process}{PART_SUFFIX}")
    try:
        with part.open("wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(part)):
            error.filename = str(path)
        raise


def write_whole(
    path: Path, content: str | bytes, *, durable: bool = False, many_writers: bool = False
) -> None:
    """Write content that is at hand, as `whole_file` does. Text is encoded as UTF-8.

    Raises: OSError when the disk refuses.
    """
    with whole_file(path, durable=durable, many_writers=many_writers) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_synced(path: Path, content: bytes) -> None:
    """Write a file in place and wait until the disk has it.

    For files of a folder that is renamed as a whole.
    """
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


class _OtherContentError(Exception):
    """A file that was copied holds something else than it should."""


def copy_checked(source: Path, target: Path, sha256: str) -> bool:
    """Copy a file whole, or not at all. Returns whether its content has this SHA-256.

    What was copied is hashed, since the file may change meanwhile. With another content nothing is
    left at `target`. The folder is made where it lacks; `sync_folder` makes the copy last.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    try:
        with source.open("rb") as file, whole_file(target, durable=True, many_writers=True) as copy:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
                copy.write(chunk)
            if digest.hexdigest() != sha256:
                raise _OtherContentError
    except _OtherContentError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Make the folder's renames and removals survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
