"""The OpenAPI document: committed, whole, and true about what may be refused."""

import json
from pathlib import Path

from api.openapi import METHODS
from tests.api.service import Service


def test_the_committed_document_is_this_programs(shared: Service, repository: Path) -> None:
    stored = json.loads((repository / "docs/schemas/openapi.json").read_text(encoding="utf-8"))
    assert shared.app.openapi() == stored, (
        "run `python scripts/openapi.py`, and look at what changed: answers may only gain fields"
    )


def test_every_operation_is_named_explained_and_says_how_it_refuses(shared: Service) -> None:
    document = shared.app.openapi()
    found = [
        (path, method, operation)
        for path, by in document["paths"].items()
        for method, operation in by.items()
        if method in METHODS
    ]
    names = [operation["operationId"] for _, _, operation in found]
    assert len(names) == len(set(names)) > 25
    for path, method, operation in found:
        problems = {int(status) for status in operation["responses"] if int(status) >= 400}
        assert {400, 403, 422, 500} <= problems, (path, method)
        for status in problems:
            said = operation["responses"][str(status)]["content"]
            assert list(said) == ["application/problem+json"], (path, method, status)
        assert "summary" in operation
        assert bool(operation["security"]) == (operation["x-level"] != "none")
