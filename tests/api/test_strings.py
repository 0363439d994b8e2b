"""Every hostile string in every place: nothing breaks, and nothing outside the data directory is opened for it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.service import CONFIG, Service

STRINGS = [
    "../../etc/passwd", "..\\..\\x", "/etc/passwd", "%2e%2e%2f", "....//", "\u0000", "a\u0000b", "file:///etc/passwd", "http://169.254.169.254/",
    "'; DROP TABLE populations; --", '" OR 1=1 --', "$(id)", "`id`", "{{7*7}}", "import:os", "!!python/object:os.system", "os:system", "__class__",
    "a" * 10_000, "\u202e", "-", "--set", "\r\nX: y", "#", "?", "*", "[", "\U0001f600", "con", "~root", "NaN",
]  # fmt: skip

_watched: list[list[str]] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and isinstance(arguments[0], str | bytes):
        _watched[-1].append(str(arguments[0]))


sys.addaudithook(_audit)  # for the rest of the process: hooks cannot be removed


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Paths of every file this process opens meanwhile."""
    _watched.append([])
    try:
        yield _watched[-1]
    finally:
        _watched.pop()


def requests(service: Service) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(method, path, more) with each string in each parameter of each route, and in each field of a body."""
    for path, by in service.app.openapi()["paths"].items():
        if path == "/v1/events":
            continue
        for method, operation in by.items():
            for parameter in operation.get("parameters", ()):
                for text in STRINGS:
                    filled = path.replace("{" + parameter["name"] + "}", quote(text, safe="")).replace("{name}", "nobody")
                    filled = (
                        filled.replace("{operation_id}", "1")
                        .replace("{match_id}", "1")
                        .replace("{evaluation_id}", "1")
                        .replace("{snapshot_id}", "0" * 64)
                    )
                    yield method.upper(), filled, {"params": {parameter["name"]: text}} if parameter["in"] == "query" else {}
    for text in STRINGS:
        yield "POST", "/v1/populations?dry_run=true", {"json": {"name": text, "config": CONFIG}}
        yield "POST", "/v1/populations?dry_run=true", {"json": {"name": "x", "config": {text: 1}}}
        yield "POST", "/v1/populations?dry_run=true", {"json": {"name": "x", "config": {**CONFIG, "description": text}}}
        yield "POST", "/v1/populations?dry_run=true", {"json": {"name": "x", "config": {**CONFIG, "runtime": {"inference_device": text}}}}
        yield "PATCH", "/v1/populations/nobody", {"json": {"set": {text: 1}}}
        yield "PATCH", "/v1/populations/nobody", {"json": {"set": {"description": text}}}
        yield "POST", "/v1/session", {"json": {"code": text}}
        yield "POST", "/v1/evaluations", {"json": {"players": [text, "random"]}}
        yield "POST", "/v1/evaluations", {"json": {"players": ["oneply", "random"], "env": text}}


@pytest.mark.slow
def test_no_string_breaks_anything_or_opens_a_file_of_its_choice(shared: Service) -> None:
    headers = {"authorization": f"Bearer {shared.token('admin')}"}
    count = 0
    with opened_files() as opened:
        for method, path, more in requests(shared):
            answer = shared.client.request(method, path, headers=headers, **more)
            assert answer.status_code < 500, (method, path, more, answer.text)
            count += 1
    assert count > 1000
    asked_for = {bare for text in STRINGS if len(bare := text.strip("/.\\")) > 3}
    named = {path for path in opened for text in asked_for if text in path}
    assert not named
    assert "/etc/passwd" not in opened


def test_the_watch_on_files_sees_them(shared: Service) -> None:
    with opened_files() as opened:
        open("/etc/passwd").close()
    assert opened == ["/etc/passwd"]
