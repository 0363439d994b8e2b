"""Answers that are serialised in the thread of the route.

A model that a route returns is validated once more by FastAPI, in another thread, and serialised
on the event loop. That takes longer than most routes do (DECISIONS 43). Tests check that answers
are as documented.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel
from starlette.responses import Response


def written(report: object, headers: Mapping[str, str] | None = None) -> Response:
    """The answer with this body. report: a model, or values that JSON has."""
    return Response(json_bytes(report), headers=headers, media_type="application/json")


def json_bytes(report: object) -> bytes:
    """The report as JSON; nan and infinities become null."""
    if isinstance(report, BaseModel):
        return report.model_dump_json().encode()
    return _JSON.encode(report)


def _plain(value: Any) -> Any:
    """A value that JSON has, in place of one that msgspec does not know."""
    match value:
        case float():
            return float(value)
        case Mapping():
            return dict(value)
        case Path():
            return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_JSON = msgspec.json.Encoder(enc_hook=_plain)
