"""The OpenAPI document: what FastAPI derives from the routes, completed by the possible problems.

The guard and the problem handlers answer in front of the routes, so FastAPI does not know them.
Each file of `api/examples/` has the name of an operation, and an example of its request and of its
answers by status.
"""

import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.field_texts import describe_fields
from api.http.guard import SAFE_METHODS, required_level
from api.http.phrases import phrase
from api.http.problems import MEDIA_TYPE, ProblemBody
from api.open_values import put_models

EXAMPLES = Path(__file__).parent / "examples"
METHODS = ("get", "put", "post", "delete", "patch")


def describe(app: FastAPI) -> None:
    """Make `app.openapi` return the completed document; it is computed once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version="1", description=app.description, routes=app.routes
            )
            app.openapi_schema = completed(document)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with a problem for every error status, and the token that an operation needs."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    _add_problem(schemas)
    put_models(document)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    document["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "arena_session"},
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method in METHODS:
                _complete(operation, path, method.upper())
    describe_fields(schemas)
    return document


def _add_problem(schemas: dict[str, Any]) -> None:
    made = ProblemBody.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= made.pop("$defs")
    schemas["Problem"] = {**made, "title": "Problem"}


def _complete(operation: dict[str, Any], path: str, method: str) -> None:
    level = required_level(method, path)
    operation["x-level"] = level
    operation["security"] = [] if level == "none" else [{"bearer": []}, {"cookie": []}]
    for status in sorted(_refusals(operation, path, method)):
        reference = {"$ref": "#/components/schemas/Problem"}
        operation["responses"][str(status)] = {
            "description": phrase(status),
            "content": {MEDIA_TYPE: {"schema": reference}},
        }
    _add_examples(operation)


def _add_examples(operation: dict[str, Any]) -> None:
    path = EXAMPLES / f"{operation['operationId']}.json"
    if not path.is_file():
        return
    shown = json.loads(path.read_text(encoding="utf-8"))
    for content in operation.get("requestBody", {}).get("content", {}).values():
        content["example"] = shown["request"]
    for status, answer in shown["answers"].items():
        for content in operation["responses"][status].get("content", {}).values():
            content["example"] = answer


def _refusals(operation: dict[str, Any], path: str, method: str) -> set[int]:
    """The error statuses that a route may answer with, including those that it declares itself."""
    statuses = {400, 403, 422, 500}
    if required_level(method, path) != "none" or (method, path) == ("POST", "/v1/session"):
        statuses.add(401)
    if "{" in path:
        statuses.add(404)
    if "requestBody" in operation:
        statuses |= {413, 415}
    if method not in SAFE_METHODS:
        statuses |= {413}
        if not path.startswith("/v1/session"):
            statuses |= {409, 412, 503, 507}
    if path == "/readyz" or path.endswith("/replay"):
        statuses.add(503)
    if path.endswith("/weights"):
        statuses |= {410, 416}
    if method == "PUT" and path.endswith("/anchor"):
        statuses.add(410)
    if path == "/v1/events":
        statuses.add(429)
    if path.endswith("/lineage"):
        statuses.add(409)
    declared = {int(status) for status in operation["responses"] if status.isdigit()}
    return statuses | {status for status in declared if status >= HTTPStatus.BAD_REQUEST}
