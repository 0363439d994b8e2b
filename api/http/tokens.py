"""What a caller may do, and how it proves that: by a token, or by a session that a token gave.

A browser swaps a token, or a one-time code that a token asked for, for a cookie. A session is worth
nothing any more when its token is revoked or has expired.
"""

import hashlib
import hmac
import json
import math
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from api.http.known_tokens import KnownTokens
from arena.data.private_file import write_private
from arena.data.service_tokens import Token, TokenLevel, hash_of

Level = Literal["none", "viewer", "admin"]
RANK: dict[Level, int] = {"none": 0, "viewer": 1, "admin": 2}
COOKIE = "arena_session"
CODE_VALID_S = 600.0
SESSION_VALID_S = 7 * 24 * 3600.0
MAX_CODES = 100


@dataclass(frozen=True)
class Grant:
    """What a caller is allowed.

    token    that gives it
    level    at most the token's
    until    when a session ends by itself, in seconds since 1970
    session  the number of a session, "" for the token itself
    """

    token: Token
    level: TokenLevel
    until: float = math.inf
    session: str = ""

    @property
    def by(self) -> str:
        """The caller's name in the log."""
        return f"session of {self.token.name}" if self.session else self.token.name


class Tokens:
    """The tokens of a service, its codes and its sessions.

    Codes are kept in memory only. Cookies are signed, so they stay valid when the service restarts;
    sessions that were ended by a logout are kept in a file until they would have ended.

    cookie  the name of its cookies; the plain name COOKIE is accepted, too
    """

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.time, *, read_only: bool = False
    ) -> None:
        self._known = KnownTokens(folder, read_only=read_only)
        # Browsers send a cookie to every port of a host: two services on one machine must not
        # overwrite each other's cookies.
        self.cookie = f"{COOKIE}_{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:8]}"
        self._key = self._known.cookie_key()
        self._read_only = read_only
        self._clock = clock
        self._ended_file = folder / "ended_sessions.json"
        self._ended = _read_ended(self._ended_file)
        self._codes: dict[str, tuple[Grant, float]] = {}
        self._lock = threading.Lock()

    def bearer(self, secret: str) -> Grant | None:
        """What a token allows; every comparison takes the same time."""
        shown = hash_of(secret)
        found: Token | None = None
        for token in self._known.by_name.values():
            if hmac.compare_digest(shown, token.sha256):
                found = token
        if found is None or found.expired(self._clock()):
            return None
        return Grant(found, found.level)

    def named(self, name: str) -> Grant:
        """What the token of this name allows. Raises: KeyError."""
        token = self._known.by_name[name]
        return Grant(token, token.level)

    def holds(self, grant: Grant) -> bool:
        """Whether it still stands: the token was not revoked, and nothing has ended or expired."""
        token, now = self._known.by_name.get(grant.token.name), self._clock()
        return (
            token is not None
            and token.sha256 == grant.token.sha256
            and not token.expired(now)
            and grant.until > now
            and grant.session not in self._ended
        )

    def new_code(self, grant: Grant, level: TokenLevel) -> str:
        """A one-time code for a session of the grant's token. level: at most the grant's."""
        now = self._clock()
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes = {
                code: entry
                for code, entry in list(self._codes.items())[-MAX_CODES + 1 :]
                if entry[1] > now
            }
            until = now + CODE_VALID_S
            self._codes[hash_of(code)] = Grant(grant.token, _lower(level, grant.level)), until
        return code

    def redeem(self, code: str) -> Grant | None:
        """What a code allows. It is used up; None for one that is wrong, used or old."""
        with self._lock:
            grant, until = self._codes.pop(hash_of(code), (None, 0.0))
        if grant is None or until <= self._clock() or not self.holds(grant):
            return None
        return grant

    def new_session(self, grant: Grant) -> tuple[str, Grant]:
        """(the cookie of a new session of the grant's token, what it allows)."""
        until = self._clock() + SESSION_VALID_S
        if grant.token.expires_at is not None:
            until = min(until, grant.token.expires_at)
        session = Grant(grant.token, grant.level, int(until), secrets.token_hex(8))
        claim = f"{grant.token.name}.{grant.level}.{int(until)}.{session.session}"
        return f"{claim}.{self._sign(claim, grant.token.sha256)}", session

    def session(self, cookie: str) -> Grant | None:
        """What a cookie allows.

        Its signature holds for its token alone: another one of the same name does not revive it.
        """
        claim, _, signature = cookie.rpartition(".")
        token = self._known.by_name.get(claim.partition(".")[0])
        signed = self._sign(claim, "" if token is None else token.sha256)
        shown = signature.encode("utf-8", "replace")
        if not hmac.compare_digest(signed.encode(), shown) or token is None:
            return None
        _, level, until, number = claim.split(".")
        allowed = _lower("admin" if level == "admin" else "viewer", token.level)
        grant = Grant(token, allowed, float(until), number)
        return grant if self.holds(grant) else None

    def end_session(self, cookie: str) -> None:
        """The cookie gives nothing any more, also after a restart; its streams end."""
        grant = self.session(cookie)
        if grant is None:
            return
        now = self._clock()
        with self._lock:
            kept = {one: end for one, end in self._ended.items() if end > now}
            self._ended = {**kept, grant.session: grant.until}
            if not self._read_only:
                write_private(self._ended_file, json.dumps(self._ended))

    def _sign(self, claim: str, sha256: str) -> str:
        signed = f"{claim} {sha256}".encode("utf-8", "replace")
        return hmac.new(self._key, signed, hashlib.sha256).hexdigest()


def _lower(one: TokenLevel, other: TokenLevel) -> TokenLevel:
    return one if RANK[one] < RANK[other] else other


def _read_ended(path: Path) -> dict[str, float]:
    """Number of each session that was ended -> when it would have ended by itself."""
    try:
        ended: dict[str, float] = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return ended
