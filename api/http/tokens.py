"""Tokens and sessions: what a caller may do, and how it proves that.

Tokens stand in files that only their owner can read. A browser gets a one-time code and swaps
it for a cookie.
"""

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pbt.errors import PbtError
from pbt.files import write_whole

Level = Literal["none", "viewer", "admin"]
RANK: dict[Level, int] = {"none": 0, "viewer": 1, "admin": 2}
TOKEN_FILES: dict[Level, str] = {"viewer": "viewer.token", "admin": "admin.token"}
COOKIE = "arena_session"
CODE_VALID_S = 600.0
SESSION_VALID_S = 7 * 24 * 3600.0
MAX_CODES = 100
MIN_TOKEN_CHARS = 16


def read_or_make(path: Path) -> str:
    """The secret in a file of mode 0600, which is made when it does not exist.

    Raises: PbtError for a file that others can read, or that holds too few characters.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w") as file:
        file.write(token + "\n")
    return token


def _read_or_invent(path: Path) -> str:
    """The secret in a file; where there is none to read, $ARENA_TOKEN for an admin, else a new one.

    A service that only reads makes no files. Raises: PbtError as `read_or_make`.
    """
    try:
        return _read(path)
    except (FileNotFoundError, PermissionError):
        given = os.environ.get("ARENA_TOKEN", "") if path.name == TOKEN_FILES["admin"] else ""
        return given if len(given) >= MIN_TOKEN_CHARS else secrets.token_urlsafe(32)


def _read(path: Path) -> str:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise PbtError(
            f"{path}: mode {mode:o}, so others can read it; expected 600: chmod 600 {path}, "
            "or remove it and a new one is made"
        )
    token = path.read_text(encoding="utf-8").strip()
    if len(token) < MIN_TOKEN_CHARS:
        raise PbtError(
            f"{path}: {len(token)} characters; expected {MIN_TOKEN_CHARS} or more; remove it "
            "and a new one is made"
        )
    return token


class Tokens:
    """The two tokens of a service, its codes and its cookies.

    Codes are kept in memory only. Cookies are signed, so they stay valid when the service restarts;
    those that were ended by a logout are kept in a file until they would have ended.

    cookie  the name of its cookies; the plain name COOKIE is accepted, too
    """

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.time, *, read_only: bool = False
    ) -> None:
        secret = _read_or_invent if read_only else read_or_make
        self._tokens = {
            level: _digest(secret(folder / name)) for level, name in TOKEN_FILES.items()
        }
        # Browsers send a cookie to every port of a host: two services on one machine must not
        # overwrite each other's cookies.
        self.cookie = f"{COOKIE}_{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:8]}"
        self._key = secret(folder / "cookie.key").encode()
        self._read_only = read_only
        self._clock = clock
        self._ended_file = folder / "ended_sessions.json"
        self._ended = _read_ended(self._ended_file)
        self._locked_out = set[str]()
        self._codes: dict[bytes, tuple[Level, float]] = {}

    def level(self, token: str) -> Level:
        """The level of a bearer token; every comparison takes the same time."""
        shown = _digest(token)
        allowed: Level = "none"
        for level, digest in self._tokens.items():
            if hmac.compare_digest(shown, digest):
                allowed = level
        return allowed

    def new_code(self, level: Level) -> str:
        now = self._clock()
        self._codes = {
            code: entry
            for code, entry in list(self._codes.items())[-MAX_CODES + 1 :]
            if entry[1] > now
        }
        code = secrets.token_urlsafe(24)
        self._codes[_digest(code)] = level, now + CODE_VALID_S
        return code

    def redeem(self, code: str) -> Level:
        """The level of a code, which is used up; "none" for one that is wrong, used or old."""
        level, until = self._codes.pop(_digest(code), ("none", 0.0))
        return level if until > self._clock() else "none"

    def new_cookie(self, level: Level) -> str:
        claim = f"{level}.{int(self._clock() + SESSION_VALID_S)}.{secrets.token_hex(8)}"
        return f"{claim}.{self._sign(claim)}"

    def cookie_level(self, cookie: str) -> Level:
        claim, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(
            self._sign(claim).encode(), signature.encode("utf-8", "replace")
        ):
            return "none"
        level, until, number = claim.split(".")
        if float(until) <= self._clock() or number in self._ended:
            return "none"
        return "admin" if level == "admin" else "viewer"

    def end_session(self, cookie: str, caller: str) -> None:
        """The cookie gives nothing any more, also after a restart; its streams end."""
        if self.cookie_level(cookie) == "none":
            return
        _, until, number, _ = cookie.split(".")
        now = self._clock()
        kept = {one: end for one, end in self._ended.items() if end > now}
        self._ended = {**kept, number: float(until)}
        self._locked_out.add(caller.partition(" ")[0])
        if not self._read_only:
            write_whole(self._ended_file, json.dumps(self._ended))
            self._ended_file.chmod(0o600)

    def locked_out(self, caller: str) -> bool:
        """Whether the caller's session was ended while it had streams open."""
        return caller.partition(" ")[0] in self._locked_out

    def _sign(self, claim: str) -> str:
        return hmac.new(self._key, claim.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def caller_name(secret: str, address: str) -> str:
    """A name for what sends a token or a cookie from an address, which does not tell the secret."""
    return f"{_digest(secret).hex()[:16]} {address}"


def _read_ended(path: Path) -> dict[str, float]:
    """Number of each session that was ended -> when it would have ended by itself."""
    try:
        ended: dict[str, float] = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return ended


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
