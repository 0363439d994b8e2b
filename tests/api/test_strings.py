"""Every hostile string in every place: nothing breaks, and nothing outside the data directory is
opened for it.

ARENA_STRINGS: how many of them (default 16, the known ones first).
"""

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.api.hostile import BODIES, FILES, places, put, requests, strings
from tests.api.service import Service

COUNT = int(os.environ.get("ARENA_STRINGS", "16"))
# What this process opens for itself: code, this process's own, and the state of others' processes.
OWN = (
    sys.prefix,
    sys.base_prefix,
    sysconfig.get_path("stdlib"),
    "/proc",
    "/sys/fs/cgroup",
    "/dev/null",
    "/etc/mime.types",
)
WATCHED = (
    "open",
    "sqlite3.connect",
    "os.listdir",
    "os.scandir",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "shutil.rmtree",
)

_watched: list[list[str]] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event in WATCHED:
        _watched[-1].extend(
            os.fsdecode(given)
            for given in arguments
            if isinstance(given, str | bytes | os.PathLike)
        )


sys.addaudithook(_audit)  # for the rest of the process: hooks cannot be removed


@contextmanager
def touched_files() -> Iterator[list[str]]:
    """Paths of every file this process opens, lists, makes or removes meanwhile; with some words
    that are none.
    """
    _watched.append([])
    try:
        yield _watched[-1]
    finally:
        _watched.pop()


def outside(path: str, roots: tuple[str, ...]) -> bool:
    """An absolute path that is in none of these folders. Files without a name are opened by that
    of their folder.
    """
    whole = os.path.realpath(path)
    return (
        os.path.isabs(path)
        and whole != tempfile.gettempdir()
        and not any(whole == root or whole.startswith(root.rstrip("/") + "/") for root in roots)
    )


@pytest.mark.slow
@pytest.mark.timeout(600 + 10 * COUNT)
def test_no_string_breaks_anything_or_opens_a_file_of_its_choice(
    shared: Service, repository: Path
) -> None:
    shared.create("strings")
    headers = {"authorization": f"Bearer {shared.token('admin')}"}
    document, count = shared.app.openapi(), 0
    with touched_files() as touched:
        for text in strings(COUNT):
            for method, path, more in requests(document, text):
                answer = shared.client.request(
                    method, path, **{**more, "headers": {**headers, **more.get("headers", {})}}
                )
                assert answer.status_code < 500, (method, path, more, answer.text)
                count += 1
    assert count > 100 * COUNT
    roots = (*OWN, str(repository), os.path.realpath(shared.data))
    assert sorted({path for path in touched if outside(path, roots)}) == []
    assert not [
        path
        for path in touched
        for name in FILES
        if path.endswith(name) and not path.startswith(str(shared.data))
    ]
    assert shared.call("GET", "/v1/populations/strings")["status"]["state"] == "created"
    print(
        f"{COUNT} strings, {count} requests, {len(set(touched))} files touched, none outside "
        "the data directory"
    )


def test_every_body_and_every_field_has_its_place(shared: Service) -> None:
    document = shared.app.openapi()
    bodies = {
        operation["operationId"]
        for by in document["paths"].values()
        for operation in by.values()
        if "requestBody" in operation
    }
    assert bodies == set(BODIES)
    sent = [(one.path, str(one.more)) for one in requests(document, "HOSTILE")]
    fields = (
        "'description': 'HOSTILE'",
        "'inference_device': 'HOSTILE'",
        "'players': ['HOSTILE', 'random']",
        "'HOSTILE': 1",
        "'weights': 'HOSTILE'",
    )
    for field in fields:
        assert any(field in more for _, more in sent), field
    assert any("HOSTILE" in path for path, _ in sent)


def test_strings_go_where_they_are_put() -> None:
    schema = {
        "properties": {
            "a": {"items": {"type": "string"}},
            "b": {"additionalProperties": True},
            "c": {"anyOf": [{"type": "string"}]},
        }
    }
    found = list(places(schema, {}))
    assert found == [("a", 0), ("b", "*"), ("c",)]
    filled = [put({"a": ["x", "y"]}, place, "!") for place in found]
    assert filled == [
        {"a": ["!", "y"]},
        {"a": ["x", "y"], "b": {"!": 1}},
        {"a": ["x", "y"], "c": "!"},
    ]
    assert len(set(strings(500))) == 500 and strings(500)[:31] == strings(31)


def test_the_watch_on_files_sees_them(shared: Service) -> None:
    with touched_files() as touched:
        open("/etc/passwd").close()
    assert [path for path in touched if outside(path, (*OWN, str(shared.data)))] == ["/etc/passwd"]
