"""Strings that have opened files, run commands or broken pages elsewhere, and every place of the
contract that takes a string.
"""

import json
import random
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple
from urllib.parse import quote

from pbt.config.schema import RunConfig
from tests.api.http.test_guard import SAMPLES
from tests.api.service import CONFIG

KNOWN = [
    "../../etc/passwd",
    "..\\..\\x",
    "/etc/passwd",
    "%2e%2e%2f",
    "....//",
    "\u0000",
    "a\u0000b",
    "file:///etc/passwd",
    "http://169.254.169.254/",
    "'; DROP TABLE populations; --",
    '" OR 1=1 --',
    "$(id)",
    "`id`",
    "{{7*7}}",
    "import:os",
    "!!python/object:os.system",
    "os:system",
    "__class__",
    "a" * 10_000,
    "\u202e",
    "-",
    "--set",
    "\r\nX: y",
    "#",
    "?",
    "*",
    "[",
    "\U0001f600",
    "con",
    "~root",
    "NaN",
]
UP = (
    "../",
    "..\\",
    "..%2f",
    "%2e%2e/",
    "%252e%252e%252f",
    "....//",
    "..;/",
    "..%c0%af",
    "\u2025/",
    "..\u2215",
    "./.././",
    "//../",
)
DEPTHS = (1, 3, 8)
FILES = (
    "etc/passwd",
    "etc/shadow",
    "proc/self/environ",
    "root/.ssh/id_rsa",
    "service/admin.token",
    "league.db",
)
ENDS = ("", "\u0000.json", "%00", "?x=1", "#x", "/.")
INJECTED = (
    "'",
    '"',
    "`",
    "$(",
    "${",
    "{{",
    "<script>",
    "<!--",
    "%s%n",
    "%0d%0a",
    "\\",
    "|",
    ";",
    "&&",
    "\u2028",
    "\ud7ff",
    "__proto__",
)
COMMANDS = ("id", "sleep 9", "cat /etc/passwd", "import os", "7*7", "SELECT 1", "DROP TABLE games")


def strings(count: int) -> list[str]:
    """The known ones, then combinations, the same ones every time."""
    climbing = [
        up * depth + file + end for up, depth, file, end in product(UP, DEPTHS, FILES, ENDS)
    ]
    injected = [start + command + start for start, command in product(INJECTED, COMMANDS)]
    more = random.Random(7).sample(climbing + injected, max(0, count - len(KNOWN)))
    return list(dict.fromkeys([*KNOWN, *more]))[:count]


class Sent(NamedTuple):
    """more: as an HTTP client takes it."""

    method: str
    path: str
    more: dict[str, Any]


# Valid but for what is put into them. The population "strings" is there.
BODIES: dict[str, dict[str, Any]] = {
    "createPopulation": {"name": "x", "config": CONFIG},
    "editPopulation": {"set": {"description": "x"}},
    "addMember": {},
    "clonePopulation": {"name": "x", "set": {"description": "x"}},
    "createEvaluation": {"players": ["unknown@best", "random"]},
    "createPlay": {"opponent": "unknown@best", "name": "x"},
    "makeMove": {"at": 0, "action": 0},
    "logIn": {"code": "x"},
    "newCode": {},
    "createImport": {"name": "x", "card": "{}", "weights": "x"},
    "createJob": {"kind": "verification", "name": "strings"},
    "setWebhook": {
        "url": "https://unknown.example/",
        "events": ["failed"],
        "secret": "long enough",
    },
}


def requests(document: dict[str, Any], text: str) -> Iterator[Sent]:
    """Requests with the string in each parameter, header and field of each operation.

    document  the OpenAPI document
    """
    for path, by in document["paths"].items():
        for method, operation in by.items():
            if operation["operationId"] == "streamEvents":
                continue
            for parameter in operation.get("parameters", ()):
                if (sent := _in_parameter(method.upper(), path, parameter, text)) is not None:
                    yield sent
            if "requestBody" in operation:
                yield from _in_body(method.upper(), path, operation, document, text)


def _in_parameter(method: str, path: str, parameter: dict[str, Any], text: str) -> Sent | None:
    match parameter["in"]:
        case "path":
            return Sent(
                method,
                filled(path.replace("{" + parameter["name"] + "}", quote(text, safe=""))),
                {},
            )
        case "query":
            return Sent(method, filled(path), {"params": {parameter["name"]: text}})
        case _ if text.isprintable() and text.isascii():
            return Sent(method, filled(path), {"headers": {parameter["name"]: text}})
    return None


def _in_body(
    method: str, path: str, operation: dict[str, Any], document: dict[str, Any], text: str
) -> Iterator[Sent]:
    """Nothing is kept of it: populations are asked for on trial."""
    named = operation["operationId"]
    ((media, content),) = operation["requestBody"]["content"].items()
    schema = content["schema"]
    bodies = [
        put(BODIES[named], place, text)
        for place in places(schema, document["components"]["schemas"])
    ]
    if named == "createPopulation":
        config = RunConfig.model_json_schema()
        bodies += [
            {"name": "x", "config": put(CONFIG, place, text)}
            for place in places(config, config["$defs"])
        ]
    query = {"params": {"dry_run": "true"}} if named == "createPopulation" else {}
    for body in bodies:
        # A form carries bytes, so a string that no bytes stand for is sent as others read it.
        parts = {name: (None, str(value).encode(errors="replace")) for name, value in body.items()}
        sent = {"files": parts} if media == "multipart/form-data" else {"json": body}
        yield Sent(method, filled(path.replace("{name}", "strings")), {**sent, **query})


def filled(path: str) -> str:
    """With an id of nothing in every place that is left."""
    for name, value in SAMPLES.items():
        path = path.replace("{" + name + "}", value)
    return path


Place = tuple[str | int, ...]
KEY = "*"
"""In a place: the name of an entry itself."""


def places(
    schema: dict[str, Any], defined: dict[str, Any], at: Place = (), depth: int = 0
) -> Iterator[Place]:
    """Where a string may stand, names of entries among them."""
    if depth > 8:
        return
    if "$ref" in schema:
        yield from places(defined[schema["$ref"].rpartition("/")[2]], defined, at, depth + 1)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from places(choice, defined, at, depth + 1)
    if (
        schema.get("type") == "string"
        or "enum" in schema
        or not schema.keys() - {"title", "description", "default"}
    ):
        yield at
    if "items" in schema:
        yield from places(schema["items"], defined, (*at, 0), depth + 1)
    for name, part in schema.get("properties", {}).items():
        yield from places(part, defined, (*at, name), depth + 1)
    if schema.get("additionalProperties") not in (None, False) or "patternProperties" in schema:
        yield (*at, KEY)


def put(body: Any, place: Place, text: str) -> Any:
    """A copy of a body with the string there, in place of whatever was."""
    if not place:
        return text
    first, rest = place[0], place[1:]
    if first == KEY:
        return {**(body if isinstance(body, dict) else {}), text: 1}
    if first == 0:
        others = body[1:] if isinstance(body, list) else []
        return [put(body[0] if isinstance(body, list) and body else None, rest, text), *others]
    table = body if isinstance(body, dict) else {}
    return json.loads(json.dumps({**table, first: put(table.get(str(first)), rest, text)}))
