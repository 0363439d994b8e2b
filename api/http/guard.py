"""The guard: middleware that checks host, origin and token of every request before its route.

A request is refused unless it is allowed.
"""

import re
import time
import uuid
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

import anyio
import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.media_types import is_upload, media_problem, most_bytes
from api.http.observability import Observed
from api.http.phrases import phrase
from api.http.problems import MEDIA_TYPE, Problem, kind_of, problem_bytes
from api.http.root_path import public_path
from api.http.settings import Settings, plain_host
from api.http.tokens import COOKIE, RANK, Grant, Level, Tokens

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
METHODS = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
SESSION_PATH = "/v1/session"
"""The path at which a browser logs in with a code or a token, logs out, and asks for its level.

It needs no other proof: code and token themselves carry a level.
"""
PUBLIC_PATHS = frozenset({"/", "/login.js", "/livez", "/readyz", SESSION_PATH})
PUBLIC_PREFIXES = ("/app/", "/assets/")
"""The dashboard's page, under the address of any of its views, and its files."""
SMALL_BYTES, COMPRESSION = 1024, 4
NOT_COMPRESSED = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream")
"""Weights hardly get smaller, and are served by ranges."""
SESSION_PATHS = (SESSION_PATH, f"{SESSION_PATH}/codes")
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
}
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")

log = structlog.stdlib.get_logger("api.http")


def required_level(method: str, path: str) -> Level:
    """The level that a request needs. Changes need an admin, also where no such route exists."""
    if method in SAFE_METHODS:
        return "none" if path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIXES) else "viewer"
    if path == SESSION_PATH:
        return "none" if method == "POST" else "viewer"
    return "admin"


def host_name(host: str) -> str | None:
    """The name in a Host header, as `plain_host`, without port; None if invalid."""
    parts = _HOST.fullmatch(host)
    return None if parts is None else plain_host(parts["name"])


def origin_host(origin: str) -> str | None:
    """Name and port in an Origin header in lower case; None for an invalid one."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def origin_problem(headers: Headers, method: str, host: str, *, cookie: bool) -> str | None:
    """Why a request may come from the page of another site; None when it does not.

    Browsers send Origin with every unsafe method and Sec-Fetch-Site with every request, and a page
    cannot leave either out. Programs send neither.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    unsafe = method not in SAFE_METHODS
    if site is not None and (unsafe or cookie) and site not in ("same-origin", "none"):
        return f"Sec-Fetch-Site is {site!r}"
    if origin is not None and unsafe and origin_host(origin) != host.lower():
        return f"Origin {origin!r} is not this service"
    if cookie and unsafe and origin is None and site is None:
        return "a cookie came without Origin and Sec-Fetch-Site"
    return None


class Guard:
    """ASGI middleware that admits or refuses every request, and counts, times and logs it.

    It puts into the state of the request its `request_id`, its `level`, whether its body may take
    long (`long_body`), and where a token or a session gave the level: the `grant`, the `caller`
    (the same with the address), and `by`, the caller's name in the log.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, tokens: Tokens, observed: Observed
    ) -> None:
        self.app = GZipMiddleware(
            app, SMALL_BYTES, COMPRESSION, exclude_content_types=NOT_COMPRESSED
        )
        self._settings, self._tokens, self._observed = settings, tokens, observed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(send, public_path(scope), request_id=uuid.uuid4().hex[:16])
        state = scope.setdefault("state", {})
        state["request_id"], started = answer.request_id, time.perf_counter()
        try:
            state["level"] = self._admit(scope)
            most = most_bytes(self._settings, scope["method"], scope["path"])
            state["long_body"] = is_upload(scope["method"], scope["path"])
            await self.app(scope, _limited(receive, most), answer)
        except Problem as problem:
            await answer.refuse(problem)
        except Exception as error:  # the last resort: a problem for the caller, all in the log
            if answer.status and _reader_left(error):
                return
            log.exception(
                "fault", request_id=answer.request_id, method=scope["method"], path=scope["path"]
            )
            await answer.refuse(
                Problem(
                    "internal", "a fault of the service; its log has more under this request_id"
                )
            )
        finally:
            self._record(scope, answer, time.perf_counter() - started)

    def _record(self, scope: Scope, answer: "_Answer", seconds: float) -> None:
        """Count and log a request; one that only reads and is answered is not shown."""
        route = getattr(scope.get("route"), "path", "unrouted")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._observed.requests.labels(route, method, str(answer.status)).observe(seconds)
        read = method in SAFE_METHODS and answer.status < HTTPStatus.BAD_REQUEST
        populations = route.startswith("/v1/populations")
        name = scope.get("path_params", {}).get("name") if populations else None
        (log.debug if read else log.info)(
            "request",
            request_id=answer.request_id,
            method=method,
            route=route,
            status=answer.status,
            by=scope["state"].get("by", "-"),
            seconds=round(seconds, 4),
            **({"population": name} if name else {}),
        )

    def _admit(self, scope: Scope) -> Level:
        """The level of the request's sender. Raises: Problem."""
        headers, method = Headers(scope=scope), scope["method"]
        hosts = headers.getlist("host")
        name = host_name(hosts[0]) if len(hosts) == 1 else None
        if name is None or name not in self._settings.hosts:
            raise Problem(
                "bad-host",
                (
                    f"Host {', '.join(hosts)!r} is not a name of this service; allow it with "
                    "`arena serve --allowed-host NAME`"
                ),
            )
        level, cookie = self._recognise(headers, scope)
        if problem := origin_problem(headers, method, hosts[0], cookie=cookie):
            raise Problem(
                "cross-site",
                (
                    f"{problem}; requests that change something must come from this service's "
                    "own pages, or from a program"
                ),
            )
        needed = self._needed(method, scope["path"])
        if RANK[level] >= RANK[needed]:
            wrong = media_problem(headers, method, scope["path"])
            if method not in SAFE_METHODS and wrong is not None:
                raise Problem("unsupported-media-type", wrong)
            return level
        if level == "none":
            raise Problem(
                "unauthorized",
                "send a valid token, `Authorization: Bearer TOKEN`, or log in with `arena open`",
                headers={"www-authenticate": "Bearer"},
            )
        raise Problem("forbidden", f"{method} needs an {needed}'s token, this is a {level}'s")

    def _needed(self, method: str, path: str) -> Level:
        """The level that a request needs. Raises: Problem for a change of what is only read."""
        needed = required_level(method, path)
        if self._settings.read_only and needed == "admin" and path not in SESSION_PATHS:
            raise Problem("forbidden", "this service only reads (`arena serve --read-only`)")
        return needed

    def _recognise(self, headers: Headers, scope: Scope) -> tuple[Level, bool]:
        """(the level of the sender, whether a cookie gave it)."""
        grant, cookie = self._grant(headers)
        if grant is None:
            return "none", False
        address = (scope.get("client") or ("",))[0]
        caller = f"{grant.by} {grant.session} {address}"
        scope["state"].update(grant=grant, by=grant.by, caller=caller)
        return grant.level, cookie

    def _grant(self, headers: Headers) -> tuple[Grant | None, bool]:
        """(what the sender is allowed, whether a cookie gave it).

        A request with a token is judged by that alone.
        """
        authorization = headers.get("authorization")
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            return self._tokens.bearer(token.strip()) if scheme.lower() == "bearer" else None, False
        for header in headers.getlist("cookie"):
            for value in _cookies(header, (self._tokens.cookie, COOKIE)):
                if (grant := self._tokens.session(value)) is not None:
                    return grant, True
        return None, False


def _reader_left(error: BaseException) -> bool:
    """Whether the error says only that the client of an event stream has gone."""
    if isinstance(error, BaseExceptionGroup):
        return all(_reader_left(one) for one in error.exceptions)
    return isinstance(error, anyio.BrokenResourceError)


def _limited(receive: Receive, most_bytes: int) -> Receive:
    """A `receive` that refuses a body longer than `most_bytes`, also without an announced length.

    Raises: HTTPException, as routes expect it.
    """
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > most_bytes:
            raise HTTPException(413, f"the body has more than {most_bytes} bytes")
        return message

    return limited


class _Answer:
    """A `send` that notes the status and adds the headers of every answer.

    An error answer that is not a problem is replaced by one.
    """

    def __init__(self, send: Send, path: str, request_id: str) -> None:
        self._send, self._path, self.request_id, self.status = send, path, request_id, 0
        self._replaced = False

    async def __call__(self, message: Message) -> None:
        if self._replaced:
            return
        if message["type"] == "http.response.start":
            if (
                message["status"] >= HTTPStatus.BAD_REQUEST
                and MutableHeaders(scope=message).get("content-type") != MEDIA_TYPE
            ):
                await self.refuse(Problem(kind_of(message["status"]), phrase(message["status"])))
                self._replaced = True
                return
            self.status = message["status"]
            names = {name for name, _ in message["headers"]}
            added = [(name, value) for name, value in _RAW_SECURITY_HEADERS if name not in names]
            message["headers"] = [
                *message["headers"],
                *added,
                (b"x-request-id", self.request_id.encode("latin-1")),
            ]
        await self._send(message)

    async def refuse(self, problem: Problem) -> None:
        """Send a problem.

        Once an answer has begun nothing more can be sent: the connection ends early instead.
        """
        if self.status:
            return
        status, body = problem_bytes(problem, self._path, self.request_id)
        headers = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **problem.headers}
        await self(
            {"type": "http.response.start", "status": status, "headers": raw_headers(headers)}
        )
        await self._send({"type": "http.response.body", "body": body})


def raw_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """The headers as HTTP carries them."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


_RAW_SECURITY_HEADERS = raw_headers(SECURITY_HEADERS)


def _cookies(header: str, names: Iterable[str]) -> list[str]:
    try:
        cookies = SimpleCookie(header)
    except CookieError:
        return []
    return [cookies[name].value for name in names if name in cookies]
