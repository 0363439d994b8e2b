"""Small files that hold secrets: only their owner can read them.

Reading follows a link, so that a file may lie elsewhere. Writing replaces a link and never follows
it. Needs no torch.
"""

import os
import secrets
import stat
from pathlib import Path

from pbt.errors import PbtError
from pbt.files import sync_folder

MIN_SECRET_CHARS = 16


def read_private(path: Path) -> str:
    """The text of a file of mode 0600.

    Raises: PbtError for a file that others can read, for what is no file and for what is no text;
    OSError where it cannot be read.
    """
    with open(path, encoding="utf-8", opener=_without_waiting) as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise PbtError(f"{path}: this is no file; expected a file of mode 600; remove it")
        if mode & 0o077:
            raise PbtError(
                f"{path}: mode {mode & 0o777:o}, so others can read it; expected 600: "
                f"chmod 600 {path}, or remove it and a new one is made"
            )
        try:
            return file.read()
        except UnicodeDecodeError:
            raise PbtError(f"{path}: this is no text; expected UTF-8; remove it") from None


def write_private(path: Path, text: str) -> None:
    """Replace a file as a whole, by one of mode 0600 that survives a power cut.

    Other processes may write the same path at the same time. Raises: OSError when the disk refuses.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            give_to_owner(part)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def read_secret(path: Path) -> str:
    """The secret in a file of mode 0600.

    Raises: PbtError as `read_private`, and for too few characters; OSError.
    """
    secret = read_private(path).strip()
    if len(secret) < MIN_SECRET_CHARS:
        raise PbtError(
            f"{path}: {len(secret)} characters; expected {MIN_SECRET_CHARS} or more; remove it "
            "and a new one is made"
        )
    return secret


def make_secret(path: Path) -> None:
    """Put a new secret into a file of mode 0600 and make its folder, unless the file is there.

    Raises: OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        give_to_owner(path)
        file.write(new_secret() + "\n")


def new_secret() -> str:
    """256 random bits, as 43 characters that any header and any address may hold."""
    return secrets.token_urlsafe(32)


def _without_waiting(name: str, flags: int) -> int:
    """Open a file. Without O_NONBLOCK the opening of a named pipe would wait for a writer."""
    return os.open(name, flags | os.O_NONBLOCK)


def give_to_owner(path: Path) -> None:
    """Let the owner of its folder use what the superuser made there: the service runs as that."""
    if os.geteuid() == 0:
        place = path.parent.stat()
        os.chown(path, place.st_uid, place.st_gid, follow_symlinks=False)
