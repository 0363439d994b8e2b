"""Serving below a path of another site: `arena serve --root-path /arena`.

A reverse proxy may hand the path on as it came, or take the root path off. Both are served: within
the service no path begins with the root path, and what goes out does.
"""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN = frozenset(
    {"v1", "app", "assets", "login.js", "livez", "readyz", "version", "metrics", "openapi.json"}
)
"""The first parts of the service's own paths. A root path that began with one would be taken for
the service's own path where the proxy takes the root path off.
"""
_ROOT = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")


def root_path_problem(root: str) -> str | None:
    """Why a service cannot be below this root path; None where it can. "" is no root path."""
    if not root:
        return None
    if _ROOT.fullmatch(root) is None:
        return (
            f"--root-path {root}: expected a path such as /arena, of letters, digits and ._~-, "
            "without a slash at its end"
        )
    if (first := root.split("/")[1]) in OWN:
        return f"--root-path {root}: /{first} is a path of the service itself; choose another one"
    return None


class BelowRoot:
    """ASGI middleware that takes the root path off what comes in, and puts it before `Location`.

    Routes find the root path as `root_path` of their scope.
    """

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        inner = {
            **scope,
            "root_path": self._root,
            "path": within(self._root, scope["path"]),
            "raw_path": within(self._root, raw.decode("latin-1")).encode("latin-1"),
        }
        root = self._root.encode()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, root + value if name == b"location" and value[:1] == b"/" else value)
                    for name, value in message["headers"]
                ]
            await send(message)

        await self.app(inner, receive, sent)


def within(root: str, path: str) -> str:
    """The path below the root; unchanged where the proxy has taken the root off already."""
    if path == root:
        return "/"
    return path[len(root) :] if path.startswith(f"{root}/") else path


def public_path(scope: Scope) -> str:
    """The path of a request as its sender called it, with the root path."""
    return f"{scope.get('root_path', '')}{scope['path']}"
