"""The tokens of a service: each has a name and a level, and all are kept in the service's folder.

The tokens `admin` and `viewer` stand in files of their own, from which programs of this machine
read them. All others were shown once, when they were made: `tokens.json` has their hashes alone.
A running service reads these files again whenever they change. Needs no torch.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from arena.data.lock import PopulationLock, holder
from arena.data.paths import POPULATION_NAME
from arena.data.private_file import (
    give_to_owner,
    new_secret,
    read_private,
    read_secret,
    write_private,
)
from pbt.errors import ConfigError, HeldError, PbtError

TokenLevel = Literal["viewer", "admin"]
FILE_TOKENS: tuple[TokenLevel, ...] = ("viewer", "admin")
"""The tokens that have a file of their own; each is named as its level."""
NAMED_TOKENS = "tokens.json"
PREFIX = "arena_"
"""It says what a string is that turns up where it should not, and never looks like an option."""
LOCK_TIMEOUT_S = 10.0


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One token, without its secret.

    name        it stands in the service's log
    level       "viewer" may read everything, "admin" may do everything
    sha256      of the secret, as 64 hexadecimal digits
    created_at  seconds since 1970
    expires_at  seconds since 1970, null for one that does not expire
    """

    name: Annotated[str, msgspec.Meta(pattern=rf"^{POPULATION_NAME.pattern}\Z")]
    level: TokenLevel
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    created_at: float
    expires_at: float | None = None

    def expired(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now


class _Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `tokens.json`."""

    tokens: tuple[Token, ...] = ()


def hash_of(secret: str) -> str:
    """The SHA-256 of a secret. Secrets are 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def token_file(folder: Path, name: str) -> Path:
    """The file of one of FILE_TOKENS."""
    return folder / f"{name}.token"


def file_token(folder: Path, name: TokenLevel) -> Token:
    """The token in the file of this name. Raises: as `read_secret`."""
    path = token_file(folder, name)
    return Token(name, name, hash_of(read_secret(path)), path.stat().st_mtime)


def named_tokens(folder: Path) -> tuple[Token, ...]:
    """The tokens of `tokens.json`, in the order in which they were made; () without the file.

    Raises: PbtError for a file that others can read or that holds something else; OSError.
    """
    path = folder / NAMED_TOKENS
    try:
        text = read_private(path)
    except FileNotFoundError:
        return ()
    try:
        return msgspec.json.decode(text, type=_Named).tokens
    except msgspec.DecodeError as error:
        raise PbtError(
            f"{path}: {error}; expected what `arena token create` writes; remove the file, which "
            "revokes every token in it, and make new ones"
        ) from error


def create_token(folder: Path, name: str, level: TokenLevel, expires_at: float | None) -> str:
    """Make a token and return its secret, which is kept nowhere. One that expired is replaced.

    Raises: ConfigError for a name that is taken or none, PbtError and OSError as `named_tokens`,
    HeldError while another process changes the tokens.
    """
    if not POPULATION_NAME.fullmatch(name):
        raise _wrong(
            f'"{name}": must be 1 to 64 of a-z, 0-9, "-" and "_", not starting with "-" or "_"'
        )
    if name in FILE_TOKENS:
        raise _wrong(f'"{name}": the token in {token_file(folder, name)} has this name')
    secret = PREFIX + new_secret()
    with _changing(folder):
        known, now = named_tokens(folder), time.time()
        if any(token.name == name and not token.expired(now) for token in known):
            raise _wrong(
                f'"{name}": there is a token of this name; choose another name, or revoke it with '
                f"`arena token revoke {name}`"
            )
        kept = tuple(token for token in known if token.name != name)
        _store(folder, (*kept, Token(name, level, hash_of(secret), now, expires_at)))
    return secret


def revoke_token(folder: Path, name: str) -> Path | None:
    """Make a token worthless. A file gets a new secret; its path is returned.

    Raises: ConfigError where no token has this name, PbtError, OSError and HeldError as
    `create_token`.
    """
    with _changing(folder):
        if name in FILE_TOKENS and (path := token_file(folder, name)).exists():
            write_private(path, new_secret() + "\n")
            return path
        known = named_tokens(folder)
        kept = tuple(token for token in known if token.name != name)
        if len(kept) == len(known):
            names = ", ".join(token.name for token in known) or "none"
            raise _wrong(f'"{name}": no token has this name; there are: {names}')
        _store(folder, kept)
    return None


@contextmanager
def _changing(folder: Path) -> Iterator[None]:
    """Be the one process that changes the tokens. Raises: HeldError after LOCK_TIMEOUT_S."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = PopulationLock(folder / "tokens.lock", "tokens")
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            lock.__enter__()
            break
        except HeldError:
            if time.monotonic() > deadline:
                pid = holder(folder / "tokens.lock") or "unknown"
                raise HeldError(
                    f"{folder}: process {pid} has been changing the tokens for {LOCK_TIMEOUT_S:g} "
                    "s; end it and try again"
                ) from None
    try:
        give_to_owner(folder / "tokens.lock")
        yield
    finally:
        lock.__exit__()


def _store(folder: Path, tokens: tuple[Token, ...]) -> None:
    write_private(folder / NAMED_TOKENS, msgspec.json.encode(_Named(tokens)).decode() + "\n")


def _wrong(problem: str) -> ConfigError:
    return ConfigError("token name", [problem])
