"""The OpenAPI document: committed, whole, typed, and true about what may be refused."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from api.field_texts import split
from api.openapi import EXAMPLES, METHODS
from tests.api.service import Service

Schema = Mapping[str, Any]
ABOUT = {"title", "description", "default", "example", "examples", "readOnly"}
"""Keys of a schema that do not say what a value is."""
BINARY = ("application/octet-stream", "video/mp4", "application/zip", "application/x-tar")


@pytest.fixture(scope="module")
def document(shared: Service) -> Schema:
    made: Schema = shared.app.openapi()
    return made


def operations(document: Schema) -> list[tuple[str, Schema]]:
    """(METHOD and path, the operation) of every route."""
    return [
        (f"{method.upper()} {path}", operation)
        for path, by in document["paths"].items()
        for method, operation in by.items()
        if method in METHODS
    ]


def contents(operation: Schema) -> Iterator[tuple[str, str, Schema]]:
    """(which message, its media type, what is said of it); refusals have one form."""
    messages = {"request": operation.get("requestBody", {})} | {
        status: answer for status, answer in operation["responses"].items() if status < "400"
    }
    for name, message in messages.items():
        for media, content in message.get("content", {}).items():
            yield name, media, content


def schemas_below(schema: Any, where: str) -> Iterator[tuple[str, Schema]]:
    """(place, schema) of a schema and of all in it."""
    yield where, schema
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for one in schema.get(key, ()):
            yield from schemas_below(one, where)
    for key in ("items", "additionalProperties", "contentSchema"):
        if isinstance(schema.get(key), dict):
            yield from schemas_below(schema[key], f"{where}[]")
    for key in ("properties", "patternProperties"):
        for name, below in schema.get(key, {}).items():
            yield from schemas_below(below, f"{where}.{name}")


def all_schemas(document: Schema) -> Iterator[tuple[str, Schema]]:
    for name, schema in document["components"]["schemas"].items():
        yield from schemas_below(schema, name)
    for place, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            yield from schemas_below(parameter["schema"], f"{place} {parameter['name']}")
        for message, media, content in contents(operation):
            schema = content.get("schema", content.get("itemSchema", {}))
            yield from schemas_below(schema, f"{place} {message} {media}")


def is_untyped(schema: Schema) -> bool:
    """Whether any value fits, or an object or a list of which nothing is said."""
    if not set(schema) - ABOUT:
        return True
    if schema.get("type") == "object":
        said = {"properties", "patternProperties"} & schema.keys()
        return not said and not isinstance(schema.get("additionalProperties"), dict)
    return schema.get("type") == "array" and not {"items", "prefixItems"} & schema.keys()


def test_the_committed_document_is_this_programs(shared: Service, repository: Path) -> None:
    stored = json.loads((repository / "docs/schemas/openapi.json").read_text(encoding="utf-8"))
    assert shared.app.openapi() == stored, (
        "run `python scripts/openapi.py`, and look at what changed: answers may only gain fields"
    )


def test_every_operation_is_named_explained_and_says_how_it_refuses(document: Schema) -> None:
    found = operations(document)
    names = [operation["operationId"] for _, operation in found]
    assert len(names) == len(set(names)) > 25
    for place, operation in found:
        problems = {int(status) for status in operation["responses"] if int(status) >= 400}
        assert {400, 403, 422, 500} <= problems, place
        for status in problems:
            said = operation["responses"][str(status)]["content"]
            assert list(said) == ["application/problem+json"], (place, status)
        assert "summary" in operation and operation.get("description"), place
        assert bool(operation["security"]) == (operation["x-level"] != "none")


def test_every_value_has_a_type(document: Schema) -> None:
    found = {place for place, schema in all_schemas(document) if is_untyped(schema)}
    assert not found, (
        "no type: give the route or the field a model; `api/open_values.py` has what stays open"
    )


def test_every_field_and_parameter_has_a_description(document: Schema) -> None:
    missing = {
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
        if not described.get("description")
    } | {
        f"{place} {parameter['name']}"
        for place, operation in operations(document)
        for parameter in operation.get("parameters", ())
        if not parameter.get("description")
    }
    assert not missing, (
        "no description: add a line `name  what it is` to the docstring of the model, or "
        "`description=` to the parameter"
    )


def test_every_route_has_an_example_that_fits_its_schema(document: Schema) -> None:
    missing, wrong = set(), set()
    for place, operation in operations(document):
        for message, media, content in contents(operation):
            where = f"{place} {message}: api/examples/{operation['operationId']}.json"
            if media in BINARY:
                continue
            if "example" not in content:
                missing.add(where)
            elif media == "application/json":
                schema = {**content["schema"], "components": document["components"]}
                for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(
                    content["example"]
                ):
                    wrong.add(f"{where}: {error.instance_path}: {error.message}")
    assert not missing, 'no example; the file has {"request": ..., "answers": {"200": ...}}'
    assert not wrong


def test_no_example_is_of_a_route_that_is_gone(document: Schema) -> None:
    names = {operation["operationId"] for _, operation in operations(document)}
    assert {path.stem for path in EXAMPLES.glob("*")} <= names


def test_a_docstring_gives_the_descriptions_of_the_fields() -> None:
    text = "A thing.\n\nlow, high  an end\n           of it\nname       its own\n\nMore: of  it."
    fields = dict.fromkeys(("low", "high", "name"))
    assert split(text, fields) == (
        "A thing.\n\nMore: of  it.",
        {"low": "an end of it", "high": "an end of it", "name": "its own"},
    )
    assert split("a  b", {})[1] == {}, "a line of prose is no field"


@pytest.mark.parametrize(
    ("schema", "untyped"),
    [
        ({"title": "X"}, True),
        ({"type": "object", "additionalProperties": True}, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ({"type": "array"}, True),
        ({"type": "array", "prefixItems": []}, False),
        ({"$ref": "#/x"}, False),
    ],
)
def test_what_counts_as_untyped(schema: Schema, untyped: bool) -> None:
    assert is_untyped(schema) == untyped
