"""Lists from documents of the program: its OpenAPI document, and JSON Schemas."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.fence.program import ROOT, call

Schema = Mapping[str, Any]
Names = tuple[str, ...]
METHODS = ("get", "put", "post", "delete", "patch")
FIRST_REFUSAL = 400


def fields(schema: Schema, document: Schema, path: str = "", inside: Names = ()) -> Iterator[str]:
    """Every field of a JSON Schema by its path, and the values of those that have a choice.

    `[]` stands for any element of a list, `*` for any name. inside: references that led here.
    """
    reference = schema.get("$ref")
    if reference in inside:
        return
    if reference is not None:
        yield from fields(_resolved(reference, document), document, path, (*inside, reference))
    for choice in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(choice, ()):
            yield from fields(one, document, path, inside)
    yield from (f"{path} = {value}" for value in schema.get("enum", ()))
    if "const" in schema:
        yield f"{path} = {schema['const']}"
    for name, below in _below(schema):
        here = f"{path}.{name}" if path and name != "[]" else f"{path}{name}"
        if name != "[]":
            yield here
        yield from fields(below, document, here, inside)


def _below(schema: Schema) -> Iterator[tuple[str, Schema]]:
    yield from schema.get("properties", {}).items()
    yield from (("*", below) for below in schema.get("patternProperties", {}).values())
    if isinstance(below := schema.get("additionalProperties"), dict):
        yield "*", below
    for name in ("items", "itemSchema"):
        if isinstance(below := schema.get(name), dict):
            yield "[]", below


def _resolved(reference: str, document: Schema) -> Schema:
    found = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def config_keys() -> set[str]:
    """Dotted keys of a config as `--set` takes them; the values of those that have a choice."""
    schema = json.loads(call("config", "schema").out)
    return set(fields(schema, schema))


def match_fields() -> set[str]:
    """Of the reports that `arena match --json` prints."""
    schema = json.loads((ROOT / "docs/schemas/match.json").read_text())
    return set(fields(schema, schema))


def openapi() -> set[str]:
    """Paths with methods, operation ids, levels, parameters, statuses; every field that travels.

    Refusals have one form, so its fields are listed once.
    """
    document = json.loads((ROOT / "docs/schemas/openapi.json").read_text())
    found = {f"schema {name}" for name in document["components"]["schemas"]}
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                found |= set(_operation(f"{method.upper()} {path}", operations[method], document))
    return found


def _operation(name: str, operation: Schema, document: Schema) -> Iterator[str]:
    yield name
    yield f"{name} is {operation['operationId']}"
    yield f"{name} needs {operation['x-level']}"
    for parameter in operation.get("parameters", ()):
        where = f"{name} {parameter['in']} {parameter['name']}"
        yield where
        yield from fields(parameter["schema"], document, where)
    yield from _content(f"{name} body", operation.get("requestBody", {}), document)
    for status, response in operation["responses"].items():
        yield f"{name} {status}"
        refused = status.isdigit() and int(status) >= FIRST_REFUSAL
        yield from _content("problem" if refused else f"{name} {status}", response, document)


def _content(where: str, message: Schema, document: Schema) -> Iterator[str]:
    for kind, content in message.get("content", {}).items():
        yield f"{where} as {kind}"
        schema = {key: content[key] for key in ("schema", "itemSchema") if key in content}
        for below in schema.values():
            yield from (f"{where}: {field}" for field in fields(below, document))
