"""The tokens that are in force now, as the files of the service's folder say.

A file that has changed is read again with the next request, so a new token works and a revoked one
does not, without a new start.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import structlog

from arena.data.private_file import MIN_SECRET_CHARS, make_secret, new_secret, read_secret
from arena.data.service_tokens import (
    FILE_TOKENS,
    NAMED_TOKENS,
    Token,
    file_token,
    hash_of,
    named_tokens,
    token_file,
)
from pbt.errors import PbtError

KEY_FILE = "cookie.key"

log = structlog.stdlib.get_logger("api.http")

Mark = tuple[int, int, int, int] | None
"""What tells one content of a file from another; None for no file."""


class KnownTokens:
    """Every token of one service, by its name.

    folder     the service's folder
    read_only  makes no files, and takes what it cannot read as not there
    Raises, when it is made: PbtError and OSError for a file that cannot be used.
    """

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self._folder, self._read_only = folder, read_only
        own = [token_file(folder, name) for name in FILE_TOKENS]
        self._files = [*own, folder / NAMED_TOKENS]
        if not read_only:
            for path in (*own, folder / KEY_FILE):
                make_secret(path)
        # What says that a file is not there for this service.
        self._unreadable: tuple[type[OSError], ...] = (
            (FileNotFoundError, PermissionError) if read_only else ()
        )
        self._missing: tuple[type[OSError], ...] = (FileNotFoundError, *self._unreadable)
        self._instead = _instead_of_files() if read_only else {}
        # One value, since several threads read the files: the tokens are never older than marks.
        self._read_at = self._look(), self._read()

    @property
    def by_name(self) -> Mapping[str, Token]:
        """The tokens in force and those that expired; thread-safe.

        While the folder is away, those that it had. When a file cannot be used, none at all.
        """
        marks, tokens = self._read_at
        now = self._look()
        if now == marks or not self._folder.is_dir():
            return tokens
        try:
            tokens = self._read()
        except (PbtError, PermissionError) as error:
            log.error("no token is in force: one of their files cannot be used", why=str(error))
            tokens = {}
        except OSError as error:  # say, no file handle is left: the next request reads again
            log.warning("the tokens could not be read again", why=str(error))
            return tokens
        self._read_at = now, tokens
        return tokens

    def cookie_key(self) -> bytes:
        """The key that signs cookies; a new one where none can be read. Raises: as the class."""
        try:
            return read_secret(self._folder / KEY_FILE).encode()
        except self._unreadable:
            return new_secret().encode()

    def _look(self) -> list[Mark]:
        return [_mark(path) for path in self._files]

    def _read(self) -> dict[str, Token]:
        found: dict[str, Token] = dict(self._instead)
        for name in FILE_TOKENS:
            try:
                found[name] = file_token(self._folder, name)
            except self._missing:
                continue
        try:
            named = named_tokens(self._folder)
        except self._unreadable:
            named = ()
        # A name that has a file is the file's alone.
        return {**{token.name: token for token in named}, **found}


def _mark(path: Path) -> Mark:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size


def _instead_of_files() -> dict[str, Token]:
    """The admin's token where there is no file for it: $ARENA_TOKEN, else one that is not told."""
    given = os.environ.get("ARENA_TOKEN", "")
    secret = given if len(given) >= MIN_SECRET_CHARS else new_secret()
    return {"admin": Token("admin", "admin", hash_of(secret), time.time())}
